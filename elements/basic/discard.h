#pragma once

#include <functional>

#include "core/clock.h"
#include "core/element.h"

namespace heddle {

/** Discard: frees every packet.
 *
 *      Discard([keywords ACTIVE, BURST])
 *
 *  One input, push or pull, no output. ACTIVE: whether it pulls, default true; BURST: packets pulled at a time, default
 *  64 (Click: 1), 0: as many as a batch takes. Both mean nothing where packets are pushed. The final report shows how
 *  many came.
 *
 *  Handlers: `count`, `byte_count` (r), `reset_counts` (w), `active` (rw).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Queue -> Discard(BURST 8);
 */
class Discard : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/0"; }
  int demand(int thread) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  int burst_ = 64;
  std::atomic<bool> active_{true};
};

/** TimedSink: pulls a packet now and then, and frees it.
 *
 *      TimedSink([INTERVAL])
 *
 *  INTERVAL: time between two packets, and before the first, default 500 ms. One input, pull, no output. Where nothing
 *  waits at that time it tries again an INTERVAL later. Runs on the first packet thread, or where StaticThreadSched
 *  puts it. At the end of the program it takes what is left at once.
 *
 *  Handlers: `interval` (rw, seconds).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Queue -> Print -> TimedSink(1ms);
 */
class TimedSink : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/0"; }
  const char* processing() const override { return "l/h"; }
  void start(const Environment& environment) override;
  int demand(int thread) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  std::atomic<uint64_t> interval_us_{500'000};
  RouterClock::time_point next_{};
  std::function<bool()> stopping_;
};

}  // namespace heddle
