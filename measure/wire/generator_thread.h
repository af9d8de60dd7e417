#pragma once

#include <rte_mbuf.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "measure/wire/generator.h"
#include "measure/wire/signature.h"

namespace heddle::bench {

/** A run as its threads see it. Times are of the time stamp counter. */
struct Schedule {
  uint64_t start = 0, begin = 0, end = 0;  ///< of sending, of measuring, of both
  Pace pace{};                             ///< of each thread; not limited: as fast as the wire takes them
  bool stamps = false;
  uint16_t warmup_tag = 0, tag = 0;
};

/** A thread of the generator: sends on some queues and receives from some, in turn. */
class alignas(64) GeneratorThread {
 public:
  GeneratorThread(const Traffic& traffic, Sequences& sequences, PacketPool& pool);

  /** Sends `stream` on a queue. */
  void add_sender(uint16_t port, uint16_t queue, const Stream& stream);
  void add_receiver(uint16_t port, uint16_t queue) { receivers_.push_back({port, queue}); }
  /** Packets of its streams: its share of the rate is in proportion. */
  size_t frames() const;

  /** Sends until the schedule ends or `stopping` is set, and receives until `over` is. */
  void run(const Schedule& schedule, const std::atomic<bool>& stopping, const std::atomic<bool>& over);

  const Counts& counts() const { return counts_; }  ///< of the last run
  /** Whether it has sent everything; from any thread. */
  bool done() const { return done_.load(std::memory_order_acquire); }
  uint64_t sent() const { return sent_.load(std::memory_order_relaxed); }
  uint64_t received() const { return received_.load(std::memory_order_relaxed); }
  /** Whether a packet has come twice; from any thread. */
  bool duplicated() const { return duplicated_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint16_t kBurst = 64;

  struct Sender {
    uint16_t port, queue;
    const Stream* stream;
    size_t next = 0;       ///< frame
    double turn = 0;       ///< frames sent, in shares of the stream: the sender with the least is next
    uint16_t pending = 0;  ///< packets that the wire did not take
    bool measured = false;
    rte_mbuf* packets[kBurst] = {};
  };
  struct Receiver {
    uint16_t port, queue;
  };

  uint64_t offset_of(uint64_t tsc) const { return (tsc - schedule_.start) << Pace::kFraction; }
  bool send_at_rate(uint64_t now);
  bool send_all(uint64_t now);
  bool build(Sender& sender, uint16_t count, uint16_t tag);
  bool receive();
  uint16_t take(rte_mbuf** packets, uint16_t n);
  bool is_of_this_run(const Signature& signature, uint64_t now) const;
  bool look_for_signature(const rte_mbuf& packet, uint64_t now, Signature& found);
  Sender& next_sender();

  const Traffic& traffic_;
  Sequences& sequences_;
  rte_mempool* pool_;
  std::vector<Sender> senders_;
  std::vector<Receiver> receivers_;
  std::vector<uint32_t> sequence_;  // [flow], of the next packet
  uint64_t due_[kBurst];            // of the packets of a burst
  // Where signatures begin in frames of even and odd length: bytes from their end. A router may change that.
  uint32_t from_end_[2] = {kSignatureBytes, kSignatureBytes + 1};
  bool moved_ = false;  // it has
  uint32_t vain_ = 0;   // frames in a row in which there was none

  // Of a run.
  Schedule schedule_;
  Counts counts_;
  bool begun_ = false, measuring_ = false;
  Pace pace_;
  uint64_t late_ticks_ = 0;  ///< in which it was late, while measuring
  uint64_t tolerance_ = 0;   ///< how late is late
  double ns_per_tick_ = 0;
  std::atomic<uint64_t> sent_{0}, received_{0};
  std::atomic<bool> done_{false}, duplicated_{false};
};

}  // namespace heddle::bench
