#include "elements/basic/counter.h"

namespace heddle {

void Counter::run_cpu(Batch& batch) {
  uint64_t bytes = 0;
  Packet* const* packets = batch.packets();
  const int n = batch.size();
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i) bytes += length(packets[i]);
  counts_[batch.thread].add(static_cast<uint64_t>(n), bytes);
}

std::vector<std::pair<std::string, uint64_t>> Counter::statistics() const {
  return {{"count", counts_.packets() + gpu_packets_}, {"byte_count", counts_.bytes() + gpu_bytes_}};
}

HEDDLE_ELEMENT(Counter);

}  // namespace heddle
