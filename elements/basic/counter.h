#pragma once

#include "core/element.h"

namespace heddle {

/** Counter: counts packets and bytes.
 *
 *      Counter
 *
 *  One input, one output; packets pass unchanged. Runs inside segments of either processor. The final report and --json
 *  show `count` (packets) and `byte_count` (bytes from the current start of the packet).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Counter -> Discard;
 */
class Counter : public NeutralElement {
 public:
  std::optional<NeutralOp> neutral() const override { return NeutralOp{NeutralOp::kCount, 0}; }
  void run_cpu(Batch& batch) override;
  void set_gpu_counts(uint64_t packets, uint64_t bytes) override { gpu_packets_ = packets, gpu_bytes_ = bytes; }
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  PerThreadCounts counts_;
  uint64_t gpu_packets_ = 0, gpu_bytes_ = 0;
};

}  // namespace heddle
