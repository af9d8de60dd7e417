#pragma once

#include <functional>
#include <vector>

#include "click/values.h"
#include "core/clock.h"
#include "core/element.h"

namespace heddle {

class Storage;

/** Unqueue: pulls packets and pushes them on.
 *
 *      Unqueue([BURST, keywords ACTIVE, LIMIT, BURST])
 *
 *  BURST: packets pulled at a time, default 32; negative or 0: as many as a batch takes. ACTIVE: whether it pulls,
 *  default true. LIMIT: packets that it moves in all; negative (default): no limit. Pull input, push output; runs on
 *  the first packet thread, or where StaticThreadSched puts it.
 *
 *  Handlers: `count` (r), `reset` (w, count starts again), `active` (rw), `limit` (rw), `burst` (rw).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Queue(64) -> Unqueue -> Discard;
 */
class Unqueue : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* processing() const override { return "l/h"; }
  int demand(int thread) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 protected:
  std::atomic<int> burst_{32};

 private:
  std::atomic<bool> active_{true};
  std::atomic<int64_t> limit_{-1};
  std::atomic<uint64_t> count_{0};  // one thread runs it
};

/** Unqueue2: pulls packets as long as there is room for them behind it, and pushes them on.
 *
 *      Unqueue2([BURST])
 *
 *  As Unqueue, but pulls no more packets than the fullest of the queues behind it, the nearest on each way, has room
 *  for; none while one of them is full. Packets then wait before it. BURST: packets pulled at a time, default 1;
 *  negative or 0: as many as a batch takes. Where several elements push into those queues, they may fill in between.
 *
 *  Handlers: those of Unqueue.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Queue(1000) -> Unqueue2 -> Queue(64) -> RatedUnqueue(1000) -> ToDump(out.pcap);
 */
class Unqueue2 : public Unqueue {
 public:
  Unqueue2() { burst_ = 1; }
  void configure(click::Arguments& arguments) override;
  void link(const Directory& directory) override;
  int demand(int thread) override;

 private:
  std::vector<const Storage*> queues_;
};

/** Burster: pulls a number of packets now and then and pushes them on.
 *
 *      Burster(INTERVAL, BURST)
 *
 *  INTERVAL: time between two bursts, and before the first, more than 0; a number alone is seconds. BURST: packets that
 *  it pulls then, at least 1, or as many as there are. Pull input, push output; runs on the first packet thread, or
 *  where StaticThreadSched puts it. It does not make up for bursts that came late. When the program is stopped what
 *  waits before it leaves at once.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Queue -> Burster(0.1, 5) -> ToDump(out.pcap);
 */
class Burster : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* processing() const override { return "l/h"; }
  void start(const Environment& environment) override { stopping_ = environment.stopping; }
  int demand(int thread) override;
  void run_cpu(Batch& batch) override;

 protected:
  /** Whether it is time for a burst. */
  virtual bool begins();
  std::chrono::microseconds interval() const { return std::chrono::microseconds(interval_.microseconds); }

  click::Duration interval_;
  int burst_ = 1;

  // Of the thread that runs it.
  RouterClock::time_point next_{};  // burst
  int left_ = 0;                    // of the burst under way

 private:
  std::function<bool()> stopping_;
  bool came_ = false;  // packets, since it has asked last
};

/** TimedUnqueue: pulls packets and pushes them on, a number of them in a time.
 *
 *      TimedUnqueue(INTERVAL [, BURST])
 *
 *  INTERVAL: more than 0; a number alone is seconds. BURST: at least 1, default 1. At most BURST packets go on at once,
 *  as soon as there are any; the next ones when INTERVAL is over. Burster, in contrast, takes packets at the ends of
 *  intervals alone. Pull input, push output; runs on the first packet thread, or where StaticThreadSched puts it. When
 *  the program is stopped what waits before it leaves at once.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Queue -> TimedUnqueue(10ms, 5) -> ToDump(out.pcap);
 */
class TimedUnqueue : public Burster {
 public:
  void configure(click::Arguments& arguments) override;
  void run_cpu(Batch& batch) override;

 private:
  bool begins() override { return RouterClock::reached(next_); }
};

}  // namespace heddle
