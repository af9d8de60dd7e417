#pragma once

#include <array>

#include "core/element.h"
#include "elements/basic/rate.h"

namespace heddle {

/** Counter: counts packets and bytes.
 *
 *      Counter
 *
 *  One input, one output; packets pass unchanged. Runs inside segments of either processor; on a GPU it counts, too, but
 *  shows it at the end only, and has no rates. The final report and --json show `count` (packets) and `byte_count`
 *  (bytes from the current start of the packet). Several threads may run it. Also called CounterMP and CounterAtomic.
 *
 *  Handlers: `count` (r), `byte_count` (r); `rate` (r, packets/s), `byte_rate` (r, bytes/s) and `bit_rate` (r, bits/s) of
 *  late: moving averages over some 16 ms; `reset` and `reset_counts` (w): count and byte_count begin again at 0. Click's
 *  COUNT_CALL and BYTE_COUNT_CALL are not there: a packet thread cannot call handlers; let a Script look at `count`.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> c :: Counter -> Discard;
 */
class Counter : public NeutralElement {
 public:
  std::optional<NeutralOp> neutral() const override { return NeutralOp{NeutralOp::kCount, 0}; }
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;
  void set_gpu_counts(uint64_t packets, uint64_t bytes) override { gpu_packets_ = packets, gpu_bytes_ = bytes; }
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  struct alignas(64) Rates {
    BatchClock clock;
    Rate packets, bytes;
  };
  uint64_t packets() const { return counts_.packets() + gpu_packets_; }
  uint64_t bytes() const { return counts_.bytes() + gpu_bytes_; }
  double rate(Rate Rates::*which) const;

  PerThreadCounts counts_;
  std::array<Rates, kMaxThreads> rates_;
  std::atomic<uint64_t> gpu_packets_{0}, gpu_bytes_{0};
};

}  // namespace heddle
