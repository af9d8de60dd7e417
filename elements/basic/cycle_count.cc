#include "elements/basic/cycle_count.h"

#include <rte_cycles.h>

#include <algorithm>

namespace heddle {

void SetCycleCount::run_cpu(Batch& batch) { std::fill_n(batch.wide_column(Column::cycles), batch.size(), rte_rdtsc()); }

void CycleCountAccum::run_cpu(Batch& batch) {
  const uint64_t now = rte_rdtsc();
  const uint64_t* then = batch.wide_column(Column::cycles);
  uint64_t cycles = 0;
  for (int i = 0; i < batch.size(); ++i) cycles += now - std::min(now, then[i]);
  counts_[batch.thread].add(static_cast<uint64_t>(batch.size()), cycles);
}

void CycleCountAccum::handlers(Handlers& list) {
  list.read("count", [this] { return std::to_string(counts_.packets()); })
      .read("cycles", [this] { return std::to_string(counts_.bytes()); })
      .write("reset_counts", [this](const std::string&) { counts_.reset(); });
}

HEDDLE_ELEMENT(SetCycleCount);
HEDDLE_ELEMENT(CycleCountAccum);

}  // namespace heddle
