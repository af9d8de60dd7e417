#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/element.h"
#include "core/error.h"
#include "elements/basic/paint_annotation.h"
#include "elements/basic/rate.h"
#include "elements/ip/transport.h"
#include "elements/nat/mapping_table.h"
#include "elements/nat/pattern.h"

namespace heddle {

/** Argument REPLY_ANNO: whether there is one. It names the paint annotation, the only one of a byte. */
struct ReplyAnnotation {
  bool given = false;
};
inline bool parse(std::string_view text, ReplyAnnotation& value) {
  PaintAnnotation paint;
  return value.given = parse(text, paint);
}
inline std::string expectation(const ReplyAnnotation&) { return expectation(PaintAnnotation{}); }

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

  /** For packet threads; may be another one for the next batch. With MAPPING_CAPACITY of another rewriter, that one's,
   *  where flows have owners. */
  nat::MappingTable& mappings() const { return *holder_->tables_.now.load(std::memory_order_acquire); }
  /** The same, for handlers, which may be called where nothing has been started (-q). */
  nat::MappingTable& started() const {
    if (holder_ == nullptr || holder_->tables_.owner == nullptr) throw Error("there are no mappings before the start");
    return *holder_->tables_.owner;
  }
  /** Finds the mapping of a flow, whose owner it sets. */
  bool find(nat::FlowKey flow, nat::Rewrite& found) const {
    flow.owner = number_;
    return mappings().find(flow, found);
  }
  /** Whether replies get the paint of their flow's first packet (REPLY_ANNO). */
  bool paints_replies() const { return paints_replies_; }

  /** A flow's packet for which a mapping is to be made. */
  struct Comer {
    uint32_t input;  ///< UINT32_MAX: another element's
    uint32_t paint;  ///< for paints_replies()
    int thread;
  };
  /** Finds the mapping of a flow, or makes it. False: it is refused, or there is no room. */
  bool map(const nat::FlowKey& flow, const Comer& comer, nat::Rewrite& found) {
    return map(flow, spec_of(comer.input), comer, found);
  }
  /** The same by an input specification of somebody else, who has read it by read_spec(). */
  bool map(nat::FlowKey flow, const nat::InputSpec& spec, const Comer& comer, nat::Rewrite& found);
  /** An input specification for its outputs. `directory`: the chain's elements, of which IPRewriterPatterns have
   *  patterns with names. Throws Error. */
  nat::InputSpec read_spec(const click::AddressNames& names, const std::string& text, const Directory& directory) const;

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
  virtual nat::MappingTable::Limits limits(const nat::MappingTable::Idle& mapping) const = 0;
  /** The parts of patterns (nat::Pattern::Part) that it can use. */
  virtual uint8_t usable_parts() const {
    using enum nat::Pattern::Part;
    return kSourceAddress | kSourcePort | kDestinationAddress | kDestinationPort;
  }
  /** Adds the handler NAME, what a flow of the first of `kinds` that knows it, "SADDR SPORT DADDR DPORT", is rewritten
   *  to. */
  void add_lookup(Handlers& list, const char* name, std::vector<nat::Kind> kinds);
  /** Adds the handler NAME, the mappings of `kind`. */
  void add_table(Handlers& list, const char* name, nat::Kind kind) {
    list.read(name, [this, kind] { return table_text(false, kind); });
  }
  static constexpr int64_t kGuaranteeMs = 5000;  // of GUARANTEE, without it
  /** Reads a time in milliseconds. */
  static int64_t time_ms(click::Arguments& arguments, const char* keyword, int64_t usual_ms);

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
  /** Looks a mapper up that is named, and its patterns by check_pattern(). Throws Error. */
  void check_spec(nat::InputSpec& spec, const std::vector<const class IPMapper*>& mappers,
                  const std::vector<const class IPRewriterPatterns*>& patterns) const;
  /** Looks a pattern up that has a name among those of the chain, and checks that it has no parts that are of no use
   *  here. Throws Error. */
  void check_pattern(nat::InputSpec& spec, const std::vector<const class IPRewriterPatterns*>& patterns) const;
  /** Makes a mapping for a flow; the reason if that cannot be, or -1. Sets `found`, and `table` if there is another one
   *  by now. */
  int make(nat::MappingTable*& table, const nat::FlowKey& flow, const nat::InputSpec& spec, const Comer& comer,
           uint64_t now_ms, nat::Rewrite& found);
  /** The same by one pattern. */
  int try_to_make(nat::MappingTable*& table, const nat::FlowKey& flow, const nat::InputSpec& spec, const Comer& comer,
                  uint64_t now_ms, nat::Rewrite& found);
  /** The same as one flow; how that came out. In a full table, another mapping may go for it. */
  nat::MappingTable::Outcome create(nat::MappingTable*& table, const nat::FlowKey& flow, const nat::FlowKey& to,
                                    const nat::InputSpec& spec, const Comer& comer, uint64_t now_ms);
  /** limits() of the rewriter that a mapping of this one's table belongs to. */
  nat::MappingTable::LimitsOf limits_of_owners() const {
    return [this](const nat::MappingTable::Idle& mapping) { return members_[mapping.owner]->limits(mapping); };
  }
  void set_spec(size_t input, const std::string& text);
  /** With RandomSeed: its patterns choose as they did in the last run. */
  void repeat(const nat::InputSpec& spec) const;
  void set_capacity(uint32_t capacity);
  std::string table_text(bool all, nat::Kind kind) const;
  std::string patterns_text(size_t first, size_t end) const;
  uint64_t now_ms(int thread) { return clocks_[static_cast<size_t>(thread)].clock.now_ms(); }

  Versions<Specs> specs_;
  std::vector<const class IPRewriterPatterns*> patterns_;  // of the chain
  std::vector<const class IPMapper*> mappers_;             // of the chain
  click::AddressNames names_;
  std::optional<uint64_t> seed_;    // with RandomSeed
  uint32_t capacity_ = 65536;       // as configured
  std::string capacity_of_;         // another rewriter, or ""
  Rewriter* shares_ = nullptr;      // that one
  Rewriter* holder_ = nullptr;      // whose tables_ these mappings are in; from the start on
  std::vector<Rewriter*> members_;  // of the holder: all that have mappings in its tables_, by number_
  uint8_t number_ = 0;
  bool set_dst_ = true, paints_replies_ = false;
  Tables tables_;
  std::atomic<std::shared_ptr<const nat::MappingTable>> counted_;  // the holder's, for statistics()
  struct alignas(kCacheLine) Clock {
    BatchClock clock;
  };
  std::unique_ptr<Clock[]> clocks_;  // by thread
  std::atomic<uint64_t> swept_ms_{0}, failures_{0}, made_{0}, expired_{0};
};

}  // namespace heddle
