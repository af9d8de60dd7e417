#pragma once

#include "core/element.h"

namespace heddle {

/** SetCycleCount: notes the processor's cycle counter for each packet.
 *
 *      SetCycleCount
 *
 *  Sets the annotation that CycleCountAccum reads to the time stamp counter's value (cycles of its fixed rate; see the
 *  flag `constant_tsc` of /proc/cpuinfo), read once a batch. One input, one output; packets pass unchanged.
 *
 *  Example, cycles that packets spend between the two, waiting for the rest of their batch included:
 *
 *      FromDump(in.pcap) -> SetCycleCount -> Strip(14) -> CheckIPHeader -> c :: CycleCountAccum -> Discard;
 */
class SetCycleCount : public Element {
 public:
  Access access(Processor) const override { return {.column_writes = columns(Column::cycles)}; }
  void run_cpu(Batch& batch) override;
};

/** CycleCountAccum: sums up the cycles since SetCycleCount.
 *
 *      CycleCountAccum
 *
 *  There is a SetCycleCount before it. The time stamp counter is read once a batch. One input, one output; packets pass
 *  unchanged.
 *
 *  Handlers: `count` (r, packets), `cycles` (r, of all of them), `reset_counts` (w).
 *
 *  Example:
 *
 *      InfiniteSource(LIMIT 1000) -> SetCycleCount -> Strip(14) -> c :: CycleCountAccum -> Discard;
 */
class CycleCountAccum : public Element {
 public:
  Access access(Processor) const override { return {.column_reads = columns(Column::cycles)}; }
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;
  void take_state(Element& old) override { counts_.take(static_cast<CycleCountAccum&>(old).counts_); }

 private:
  PerThreadCounts counts_{counts};  // packets, and cycles as "bytes"
};

}  // namespace heddle
