#pragma once

#include "core/element.h"

namespace heddle {

/** AggregateLength: sets the aggregate annotation to packets' lengths.
 *
 *      AggregateLength([keyword IP])
 *
 *  The length is in bytes, with those that a packet had on the wire and a capture does not have. IP: whether only bytes
 *  from the network header on count, which annotation l3 marks, default false; packets that have none then leave by
 *  output 1 or, if that is not connected, are dropped ("no_header").
 *
 *  Example, how often each length occurs:
 *
 *      FromDump(in.pcap) -> AggregateLength -> a :: AggregateCounter -> Discard;
 *      DriverManager(wait_stop, write a.write_text_file -);
 */
class AggregateLength : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  bool ip_ = false;
};

/** AggregatePaint: sets the aggregate annotation from the paint annotation.
 *
 *      AggregatePaint([BITS, keyword INCREMENTAL])
 *
 *  BITS: how many bits of the paint count, the lowest, 1 to 8 (default). INCREMENTAL: whether what the annotation was,
 *  times two to the BITS, is added, default false. One input, one output.
 *
 *  Example, packets of each flow and direction:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> AggregateIPFlows -> AggregatePaint(1, INCREMENTAL true)
 *        -> a :: AggregateCounter -> Discard;
 *      DriverManager(wait_stop, write a.write_text_file -);
 */
class AggregatePaint : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  void run_cpu(Batch& batch) override;

 private:
  uint32_t bits_ = 8;
  bool incremental_ = false;
};

}  // namespace heddle
