#pragma once

#include <functional>
#include <vector>

#include "click/values.h"
#include "core/clock.h"
#include "core/column_pack.h"
#include "core/element.h"
#include "elements/basic/handler_call.h"

namespace heddle {

/** ReplayUnqueue: pulls packets, keeps them, and pushes copies of them again and again.
 *
 *      ReplayUnqueue([keywords STOP, STOP_TIME, ACTIVE, LIMIT, MEMORY, BURST, QUICK_CLONE, VERBOSE, FREEONTERMINATE,
 *                     USE_SIGNAL, TIMING])
 *
 *  While it is active it first pulls packets until there are no more, but at least one, or until there are LIMIT
 *  (default -1: no limit) or they take MEMORY megabytes (default 4096), with 32 bytes for each. Then it pushes copies
 *  of all of them, in their order, and begins anew: STOP times (default -1: without end; 0: not at all) or, with
 *  STOP_TIME, for so long. Then the program is stopped, or the `wait_stop` or `pause` of a DriverManager ends, and
 *  ACTIVE is false. ACTIVE: whether it works, default true. BURST: most packets at a time, default 64. Copies have
 *  their bytes of their own, and the annotations and the time stamp of what they are copies of; QUICK_CLONE, VERBOSE,
 *  FREEONTERMINATE and USE_SIGNAL are accepted for FastClick's sake and have no effect. TIMING, the packets' own pace,
 *  must be 0: there is none here, nor TIMING_FNT.
 *
 *  Pull input, push output, where FastClick's may have several; runs on the first packet thread, or where
 *  StaticThreadSched puts it. While no packet buffer is free it waits. Drops: "too_long", a packet that begins so far
 *  behind in its buffer that there is no such room in another one.
 *
 *  Handlers: `active` (rw), `stop` (rw, rounds that are left), `stop_time` (rw, seconds), `reset` (w, forgets its
 *  packets and pulls others). Statistics: `loaded`, packets that it keeps; `rounds`, those that have ended. Hot
 *  reconfiguration: with the same arguments and annotations behind it goes on, else it begins anew.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Queue -> ReplayUnqueue(STOP 3) -> ToDump(out.pcap);
 */
class ReplayUnqueue : public Source {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1"; }
  const char* processing() const override { return "l/h"; }
  Access access(Processor) const override { return {.reads = {kWholePacket}}; }
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  int demand(int thread) override;
  void run_cpu(Batch& batch) override;
  void receive(Batch& batch) override;
  bool exhausted() const override;
  void take_state(Element& old) override;
  std::string stop() override { return call_.finish(); }
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  /** A packet that is kept: its bytes and, behind them, its columns lie at `at` of bytes_. */
  struct Kept {
    size_t at;
    uint16_t offset, length;  // of the data in its buffer
    CaptureInfo info;         // timestamp_ns 0: none
  };
  bool loading() const { return !loaded_.load(std::memory_order_relaxed); }
  bool has_time() const { return stop_time_us_.load(std::memory_order_relaxed) > 0; }
  /** Whether there is no further round. */
  bool over() const;
  void forget_if_asked();
  void end();
  bool append_copy(Batch& batch, const Kept& kept);

  int64_t limit_ = -1;
  size_t most_bytes_ = 0;
  int burst_ = 64;
  std::atomic<bool> active_{true}, reset_{false}, loaded_{false};
  std::atomic<int64_t> stop_{-1}, stop_time_us_{0};
  std::atomic<uint64_t> kept_{0}, rounds_{0};
  PacketPool *packets_ = nullptr, *large_packets_ = nullptr;
  std::function<bool()> stopping_;
  HandlerCall call_;  // of nothing: stops the program

  // Of the thread that runs it.
  ColumnPack pack_;
  std::vector<Kept> list_;
  std::vector<std::byte> bytes_;
  size_t next_ = 0;                    // in list_
  bool asked_ = false, came_ = false;  // for packets; some, since then
  RouterClock::time_point begun_{};    // replaying; for STOP_TIME
};

/** MultiReplayUnqueue: another name for ReplayUnqueue.
 *
 *      MultiReplayUnqueue([keywords])
 *
 *  As ReplayUnqueue, with one input and one output: FastClick's may have several, whose packets it sends in the order
 *  of their time stamps; a MergeByTimestamp before a ReplayUnqueue does that here.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Queue -> MultiReplayUnqueue(STOP 3) -> ToDump(out.pcap);
 */
class MultiReplayUnqueue : public ReplayUnqueue {};

}  // namespace heddle
