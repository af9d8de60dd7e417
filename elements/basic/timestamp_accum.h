#pragma once

#include <atomic>

#include "core/element.h"

namespace heddle {

/** TimestampAccum: measures how old packets are by their time stamps.
 *
 *      TimestampAccum
 *
 *  Adds up the time from each packet's time stamp until it comes here; a packet of a port that has none is as old as
 *  its arrival, so that it adds nothing: put SetTimestamp where the way begins that is measured. One input, one output.
 *
 *  Handlers: `count` (r, packets), `time` (r, their times, in seconds), `average_time` (r), `reset_counts` (w).
 *
 *  Example, how long packets wait in a queue:
 *
 *      FromDevice(eth0) -> SetTimestamp -> Queue -> Unqueue -> TimestampAccum -> Discard;
 */
class TimestampAccum : public Element {
 public:
  Access access(Processor) const override { return {}; }
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  std::atomic<uint64_t> count_{0};
  std::atomic<int64_t> time_ns_{0};
};

}  // namespace heddle
