#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/element.h"
#include "core/error.h"
#include "elements/basic/rate.h"
#include "elements/ip/transport.h"
#include "elements/nat/mapping_table.h"
#include "elements/nat/pattern.h"

namespace heddle {

/** What the elements that rewrite flows have in common: input specifications, mappings, their timeouts and handlers,
 *  and the way of a packet. They differ in what a flow is. */
class Rewriter : public Element {
 public:
  Rewriter() {
    retiring.push_back(&specs_);
    retiring.push_back(&tables_);
  }
  void configure(click::Arguments& arguments) override;
  void link(const Directory& directory) override;
  const char* ports() const override { return "1-/1-"; }
  const char* processing() const override { return "h/h"; }
  bool tells_inputs() const override { return true; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  int timer_us() const override { return 1000; }
  void on_timer(int thread) override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

  /** For packet threads; may be another one for the next batch. */
  nat::MappingTable& mappings() const { return *tables_.now.load(std::memory_order_acquire); }
  /** The same, for handlers, which may be called where nothing has been started (-q). */
  nat::MappingTable& started() const {
    if (tables_.owner == nullptr) throw Error("there are no mappings before the start");
    return *tables_.owner;
  }

  /** Finds the mapping of a flow, or makes it as for a packet that comes by `input`. False: it is refused, or there is
   *  no room. */
  bool map(const nat::FlowKey& flow, uint32_t input, int thread, nat::Rewrite& found) {
    nat::MappingTable* table = &mappings();
    return table->find(flow, found) || make(table, flow, input, now_s(thread), found) < 0;
  }

  enum Reason : int { kNoHeader, kOtherProtocol, kFragment, kRefused, kTableFull, kNoPort, kReasons };

 protected:
  /** The flow of a packet, or the reason why it has none; -1: it has. `seen`: what the packet shows, for timeouts, as
   *  one of the forward direction. */
  virtual int flow_of(const Ip4Header& ip, nat::FlowKey& flow, uint8_t& seen) const = 0;
  /** Another flow, of the way back, by which a mapping may know the packet. */
  virtual bool reply_of(const Ip4Header& /*ip*/, nat::FlowKey& /*flow*/) const { return false; }
  /** Writes the flow `to` into a packet of the flow `from`. */
  virtual void rewrite(const Ip4Header& ip, const nat::FlowKey& from, const nat::FlowKey& to) const = 0;
  /** Reads the timeouts that the class has. */
  virtual void configure_timeouts(click::Arguments& arguments) = 0;
  virtual uint32_t timeout_s(const nat::MappingTable::Idle& mapping) const = 0;
  /** Adds the handler NAME, what a flow of `kind`, "SADDR SPORT DADDR DPORT", is rewritten to. */
  void add_lookup(Handlers& list, const char* name, nat::Kind kind);
  static uint32_t seconds(click::Arguments& arguments, const char* keyword, uint32_t usual);

 private:
  using Specs = std::vector<nat::InputSpec>;  // by input
  /** Versions of something that packet threads look at, of which they see the newest. */
  template <class T>
  struct Versions : Retiring {
    std::atomic<T*> now{nullptr};
    std::shared_ptr<T> owner;  // of it
    std::vector<std::shared_ptr<T>> gone;

    void set(std::shared_ptr<T> next) {
      now.store(next.get(), std::memory_order_release);
      owner.swap(next);
      if (next != nullptr) gone.push_back(std::move(next));
    }
    void swap(Versions& other) {
      owner.swap(other.owner);
      now = owner.get(), other.now = other.owner.get();
    }
    bool has_retired() const override { return !gone.empty(); }
    void reclaim() override { gone.clear(); }
  };
  struct Tables : Versions<nat::MappingTable> {
    void reclaim() override {
      for (const auto& table : gone) table->hand_over(*owner);
      gone.clear();
    }
  };

  const nat::InputSpec& spec_of(uint32_t input) const {
    const Specs& specs = *specs_.now.load(std::memory_order_acquire);
    return specs[std::min<size_t>(input, specs.size() - 1)];
  }
  /** Looks the patterns up that have names. */
  void find_patterns(Specs& specs) const;
  /** Makes a mapping for a flow that came by `input`; the reason if that cannot be, or -1. Sets `found`, and `table` if
   *  there is another one by now. */
  int make(nat::MappingTable*& table, const nat::FlowKey& flow, uint32_t input, uint32_t now_s, nat::Rewrite& found);
  void set_spec(size_t input, const std::string& text);
  void set_capacity(uint32_t capacity);
  std::string table_text(bool all, nat::Kind kind) const;
  uint32_t now_s(int thread) {
    return static_cast<uint32_t>(clocks_[static_cast<size_t>(thread)].clock.now_ms() / 1000);
  }

  Versions<Specs> specs_;
  std::vector<const class IPRewriterPatterns*> patterns_;  // of the chain
  click::AddressNames names_;
  uint32_t capacity_ = 65536;  // as configured
  bool set_dst_ = true;
  Tables tables_;
  std::atomic<std::shared_ptr<const nat::MappingTable>> counted_;  // the same, for statistics()
  struct alignas(kCacheLine) Clock {
    BatchClock clock;
  };
  std::unique_ptr<Clock[]> clocks_;  // by thread
  std::atomic<uint64_t> swept_ms_{0}, failures_{0}, made_{0}, expired_{0};
};

}  // namespace heddle
