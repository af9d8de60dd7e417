#pragma once

#include <rte_ring_elem.h>

#include <memory>

#include "core/column_pack.h"
#include "core/element.h"

namespace heddle {

/** Where packets wait until they are pulled. */
class Storage : public Source {
 public:
  /** How many there are now. Any thread. */
  virtual unsigned stored() const = 0;
};

/** Queue: keeps packets until they are pulled.
 *
 *      Queue([CAPACITY])
 *
 *  CAPACITY: packets that it holds, default 1000, up to 1,048,576. Push input, pull output: it is where packets pass from
 *  what pushes to what pulls (Unqueue, a sink), maybe on another thread (StaticThreadSched). First in, first out; several
 *  threads may push and pull at once. When it is full, packets that arrive are dropped ("full"); packets that nobody has
 *  pulled when the program ends are reported as `left`. Annotations stay with packets. Also called SimpleQueue,
 *  ThreadSafeQueue and NotifierQueue.
 *
 *  Hot reconfiguration: packets and counts go over to the queue of the same name, as far as it has room for them and they have the
 *  annotations that are read behind it.
 *
 *  Handlers: `length` (r), `highwater_length` (r), `capacity` (r), `drops` (r), `reset_counts` (w), `reset` (w, drops all
 *  packets).
 *
 *  Example, receive on one thread and send on another (-j 2):
 *
 *      FromDPDKDevice(0) -> q :: Queue -> u :: Unqueue -> ToDPDKDevice(1); StaticThreadSched(u 1);
 */
class Queue : public Storage {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1"; }
  const char* processing() const override { return "h/l"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;
  void receive(Batch& batch) override;
  void take_state(Element& old) override;
  uint64_t packets_held() const override { return length(); }
  bool exhausted() const override { return ring_ == nullptr || rte_ring_empty(ring_.get()); }
  std::string stop() override;
  void handlers(Handlers& list) override;
  unsigned stored() const override { return length(); }
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 protected:
  /** Takes packets [from, size) of `batch` in, as many as there is room for; returns the first that is left. */
  int keep(Batch& batch, int from);
  /** Leaves packets [from, size) in `batch`, marked as dropped. */
  void drop_from(Batch& batch, int from);

  uint64_t dropped() const { return drops_.load(); }
  /** Takes up to `count` packets out of the front, without their columns; returns how many. */
  unsigned take_front(Packet** packets, unsigned count);

  unsigned capacity_ = 1000;

 private:
  struct FreeRing {
    void operator()(rte_ring* ring) const { std::free(ring); }
  };
  /** What waits: a packet and its columns. A ring wants multiples of 4 bytes. */
  unsigned entry_bytes() const { return static_cast<unsigned>(sizeof(Packet*) + columns_.bytes()); }
  /** Takes up to `count` entries out; returns how many. `entries`: [count][entry_bytes()] */
  unsigned take(std::byte* entries, unsigned count);
  /** Frees up to `most` packets; returns how many. */
  unsigned free_packets(unsigned most);
  unsigned length() const { return ring_ == nullptr ? 0 : rte_ring_count(ring_.get()); }

  ColumnPack columns_;
  std::unique_ptr<rte_ring, FreeRing> ring_;
  std::atomic<unsigned> highwater_{0};
  std::atomic<uint64_t> drops_{0};
  uint64_t left_ = 0;
};

}  // namespace heddle
