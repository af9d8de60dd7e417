#pragma once

#include <array>

#include "core/acts_beside.h"
#include "core/element.h"
#include "elements/basic/count_call.h"
#include "elements/basic/rate.h"

namespace heddle {

/** Counter: counts packets and bytes.
 *
 *      Counter([keywords COUNT_CALL, BYTE_COUNT_CALL])
 *
 *  COUNT_CALL: "N HANDLER [VALUE]": when the count of packets reaches N, VALUE is written to HANDLER (element.handler,
 *  or one of the router's, such as stop). BYTE_COUNT_CALL: the same for bytes. A thread of the Counter's own makes the
 *  call, once, while packets go on; with `--batch 1` the packet waits for it, as in Click. The program does not end
 *  before it. It is an error if there is no such handler.
 *
 *  One input, one output; packets pass unchanged. Runs inside segments of either processor; on a GPU it counts, too,
 *  but has no rates. The final report and --json show `count` (packets) and `byte_count` (bytes from the current start
 *  of the packet). Several threads may run it. Also called CounterMP and CounterAtomic.
 *
 *  Hot reconfiguration: the counts go on.
 *
 *  Handlers: `count` (r), `byte_count` (r); `rate` (r, packets/s), `byte_rate` (r, bytes/s) and `bit_rate` (r, bits/s)
 *  of late: moving averages over some 16 ms; `reset` and `reset_counts` (w): count and byte_count begin again at 0, and
 *  calls are made again; `count_call` (rw, read: its N), `byte_count_call` (w): another COUNT_CALL, or without HANDLER
 *  none. On a GPU there are no calls.
 *
 *  Example, the first packets of a capture:
 *
 *      FromDump(in.pcap) -> s :: Switch(0) -> c :: Counter(COUNT_CALL 1000 s.switch -1) -> ToDump(some.pcap);
 */
class Counter : public NeutralElement, public ActsBeside {
 public:
  void configure(click::Arguments& arguments) override;
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  bool acts() const override { return count_call_.under_way() || byte_count_call_.under_way(); }
  bool keeps_running() const override { return count_call_.pending() || byte_count_call_.pending(); }
  std::string stop() override;
  std::optional<NeutralOp> neutral() const override { return NeutralOp{NeutralOp::kCount, 0}; }
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  struct alignas(64) Rates {
    BatchClock clock;
    Rate packets, bytes;
  };
  std::pair<uint64_t, uint64_t> engine_counts_since_reset() const;
  uint64_t packets() const {
    return former_packets_ + (engine_counts ? engine_counts_since_reset().first : counts_.packets());
  }
  uint64_t bytes() const {
    return former_bytes_ + (engine_counts ? engine_counts_since_reset().second : counts_.bytes());
  }
  double rate(Rate Rates::*which) const;
  void reset();
  void look_at_calls();

  PerThreadCounts counts_{counts};
  std::atomic<uint64_t> former_packets_{0}, former_bytes_{0};  // that a predecessor has counted
  std::array<Rates, kMaxThreads> rates_;
  CountCall count_call_, byte_count_call_;
  std::atomic<bool> calls_{false};                             // whether there is one
  std::atomic<uint64_t> packets_before_{0}, bytes_before_{0};  // the last reset
};

}  // namespace heddle
