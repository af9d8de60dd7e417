#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/element.h"
#include "elements/basic/rate.h"
#include "elements/ip/transport.h"
#include "elements/nat/mapping_table.h"
#include "elements/nat/pattern.h"

namespace heddle {

/** What the elements that rewrite flows have in common: input specifications, mappings, their timeouts and handlers, and the way
 *  of a packet. They differ in what a flow is. */
class Rewriter : public Element {
 public:
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

  nat::MappingTable& mappings() { return *table_; }
  const nat::MappingTable& mappings() const { return *table_; }

  /** Finds the mapping of a flow, or makes it as for a packet that comes by `input`. False: it is refused, or there is no room. */
  bool map(const nat::FlowKey& flow, uint32_t input, int thread, nat::Rewrite& found) {
    return table_->find(flow, found) || make(flow, input, now_s(thread), found) < 0;
  }

  enum Reason : int { kNoHeader, kOtherProtocol, kFragment, kRefused, kTableFull, kNoPort, kReasons };

 protected:
  /** The flow of a packet, or the reason why it has none; -1: it has. `seen`: what the packet shows, for timeouts, as one of the
   *  forward direction. */
  virtual int flow_of(const Ip4Header& ip, nat::FlowKey& flow, uint8_t& seen) const = 0;
  /** Another flow, of the way back, by which a mapping may know the packet. */
  virtual bool reply_of(const Ip4Header& /*ip*/, nat::FlowKey& /*flow*/) const { return false; }
  /** Writes the flow `to` into a packet of the flow `from`. */
  virtual void rewrite(const Ip4Header& ip, const nat::FlowKey& from, const nat::FlowKey& to) const = 0;
  /** Reads the timeouts that the class has. */
  virtual void configure_timeouts(click::Arguments& arguments) = 0;
  virtual uint32_t timeout_s(const nat::MappingTable::Idle& mapping) const = 0;
  static uint32_t seconds(click::Arguments& arguments, const char* keyword, uint32_t usual);

 private:
  /** Makes a mapping for a flow that came by `input`; the reason if that cannot be, or -1. Sets `found`. */
  int make(const nat::FlowKey& flow, uint32_t input, uint32_t now_s, nat::Rewrite& found);
  std::string table_text(bool all, nat::Kind kind) const;
  uint32_t now_s(int thread) {
    return static_cast<uint32_t>(clocks_[static_cast<size_t>(thread)].clock.now_ms() / 1000);
  }

  std::vector<nat::InputSpec> specs_;  // by input
  uint32_t capacity_ = 65536;
  bool set_dst_ = true;
  std::unique_ptr<nat::MappingTable> table_;
  struct alignas(kCacheLine) Clock {
    BatchClock clock;
  };
  std::unique_ptr<Clock[]> clocks_;  // by thread
  std::atomic<uint64_t> swept_ms_{0}, failures_{0}, made_{0}, expired_{0};
};

}  // namespace heddle
