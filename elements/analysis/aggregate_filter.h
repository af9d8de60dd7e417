#pragma once

#include <vector>

#include "core/element.h"

namespace heddle {

/** AggregateFilter: chooses a packet's output by its aggregate annotation.
 *
 *      AggregateFilter(ACTION AGGREGATE ..., ...)
 *
 *  Each argument is a rule; the first one that has the packet's aggregate decides. ACTION: the number of an output;
 *  `allow`, which is output 0; or `deny` or `drop` ("denied"). AGGREGATE: a number, or a range such as 10-98; `all` (or
 *  -) alone: all of them. Packets that no rule has are dropped ("no_match"). Push input, push outputs, as many
 *  as wanted.
 *
 *  Example, some of the flows:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> AggregateIPFlows -> f :: AggregateFilter(0 1-3 17, 1 all)
 *        -> ToDump(some.pcap); f[1] -> Discard;
 */
class AggregateFilter : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-"; }
  const char* processing() const override { return "h/h"; }
  Access access(Processor) const override { return {.column_reads = columns(Column::aggregate)}; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  /** From `first` to the next range's. */
  struct Range {
    uint32_t first;
    uint16_t next;  // as Batch::next()
  };
  /** Gives what is undecided of [first, last] to `next`. */
  void decide(uint64_t first, uint64_t last, uint16_t next);

  std::vector<Range> ranges_;  // of all aggregates, ascending; neighbours differ
};

}  // namespace heddle
