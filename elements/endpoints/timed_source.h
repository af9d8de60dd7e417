#pragma once

#include "core/clock.h"
#include "elements/endpoints/generator.h"

namespace heddle {

/** TimedSource: makes a packet now and then.
 *
 *      TimedSource([INTERVAL, DATA, LIMIT, ACTIVE, keywords INTERVAL, DATA, LIMIT, ACTIVE, LENGTH, STOP, END_CALL])
 *
 *  INTERVAL: time between two packets, and before the first, default 500 ms. DATA: the packet's bytes, quoted or as
 *  \<hexadecimal>; default: 69 bytes of text. LIMIT: packets in all; negative (default): no limit. ACTIVE, LENGTH,
 *  STOP, END_CALL: as of InfiniteSource. No input, one output. Runs on the first packet thread, or where
 *  StaticThreadSched puts it.
 *
 *  Handlers: those of InfiniteSource but `burst`; `interval` (rw, seconds).
 *
 *  Example:
 *
 *      TimedSource(1ms, "hello", LIMIT 3) -> Print -> Discard;
 */
class TimedSource : public RepeatedPacket {
 public:
  void configure(click::Arguments& arguments) override;
  void start(const Environment& environment) override;
  void receive(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  using Clock = RouterClock;
  std::atomic<uint64_t> interval_us_{500'000};
  Clock::time_point next_{};
};

}  // namespace heddle
