#pragma once

#include <memory>

#include "core/clock.h"
#include "core/column_pack.h"
#include "core/element.h"

namespace heddle {

/** MinBatch: gathers packets, so that what follows works on larger batches.
 *
 *      MinBatch([BURST, TIMER])
 *
 *  BURST: packets that a thread gathers before they go on, default 32. TIMER: the longest time that a packet waits for
 *  others: microseconds, or a time with its unit (1ms). Default -1: as long as it takes. All that have been gathered go
 *  on together, as far as they fit into a batch, in the order in which they came. Push input, push output; each packet
 *  thread gathers its own. When nothing will come any more, the rest goes on, however few they are. Packets that wait
 *  are taken from those that ports can use: it is an error if all threads together may keep more than half of them.
 *  (FastClick.)
 *
 *  Example, lookups in batches of 256, or whatever came within 100 us:
 *
 *      FromDPDKDevice(0) -> MinBatch(256, 100) -> GetIPAddress(30) -> rt :: DirectIPLookup(0.0.0.0/0 0);
 *      rt[0] -> ToDPDKDevice(0);
 */
class MinBatch : public Source {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1"; }
  const char* processing() const override { return "h/h"; }
  Access access(Processor) const override { return {.reads = {kWholePacket}}; }
  bool every_thread() const override { return true; }
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;
  void receive(Batch& batch) override;
  void take_state(Element& old) override;
  uint64_t packets_held() const override;
  bool exhausted() const override;
  bool release() override;
  std::string stop() override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

  /** Argument TIMER. */
  struct Timer {
    int64_t microseconds = -1;
  };

 private:
  using Clock = RouterClock;
  /** What a thread has gathered: a ring with room for every packet that there is, so that it is never full. */
  struct alignas(64) Gathered {
    std::unique_ptr<Packet*[]> packets;    // [ring_size_]
    std::unique_ptr<std::byte[]> columns;  // [ring_size_][columns_.bytes()]
    size_t first = 0;
    std::atomic<size_t> count{0};  // written by the thread itself
    size_t due = 0;                // of them, those that go on without waiting for more
    Clock::time_point since;       // the first one waits
  };
  bool nothing_gathered() const;
  /** As long as start() has not succeeded, none. */
  int gathering_threads() const { return gathered_ == nullptr ? 0 : threads_; }

  unsigned burst_ = 32;
  Timer timer_;
  int threads_ = 0;
  ColumnPack columns_;
  size_t ring_size_ = 0;
  std::unique_ptr<Gathered[]> gathered_;  // [threads_]
  std::atomic<bool> released_{false};
  uint64_t left_ = 0;
};

}  // namespace heddle
