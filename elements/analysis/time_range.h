#pragma once

#include <atomic>

#include "core/element.h"

namespace heddle {

/** TimeRange: notes from when to when packets' time stamps are.
 *
 *      TimeRange([keyword SIMPLE])
 *
 *  SIMPLE: whether time stamps are known to come in order, so that the first packet has the earliest and the last one
 *  the latest, default false. Packets pass unchanged; those without time stamp do not count, but those of a port are as
 *  old as their arrival. One input, one output. Hot reconfiguration: the range goes on.
 *
 *  Handlers: `first`, `last` (r, seconds; 0.000000 if no packet has come), `range` (r, both), `interval` (r, the time
 *  between them), `reset` (w).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> t :: TimeRange -> Discard; DriverManager(wait_stop, print t.range);
 */
class TimeRange : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override { return {}; }
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  static constexpr int64_t kNone = INT64_MAX, kNoneYet = INT64_MIN;
  int64_t first() const;  // 0: no packet has come
  int64_t last() const;

  bool simple_ = false;
  std::atomic<int64_t> first_ns_{kNone}, last_ns_{kNoneYet};  // since 1970
};

}  // namespace heddle
