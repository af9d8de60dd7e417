#pragma once

#include <rte_ring_elem.h>

#include <deque>
#include <memory>

#include "core/column_pack.h"
#include "core/element.h"
#include "core/table.h"

namespace heddle {

/** Where packets wait until they are pulled. */
class Storage : public Source {
 public:
  /** How many there are now. Any thread. */
  virtual unsigned stored() const = 0;
  /** How many more there is room for. Any thread. */
  virtual unsigned room() const = 0;
  /** How many more there is room for, if sources are to wait for that; nullopt: they push, and what is too much goes.
   *  Any thread. */
  virtual std::optional<unsigned> awaited_room() const { return std::nullopt; }
};

/** Where packets that leave `element` come to wait first, on all ways up to what pulls; or, if not `behind`, where its
 *  packets have waited last. Called by link(). */
std::vector<const Storage*> nearest_storages(const Element& element, bool behind);

/** Queue: keeps packets until they are pulled.
 *
 *      Queue([CAPACITY])
 *
 *  CAPACITY: packets that it holds, default 1000, up to 1,048,576. Push input, pull output: it is where packets pass
 *  from what pushes to what pulls (Unqueue, a sink), maybe on another thread (StaticThreadSched). First in, first out;
 *  several threads may push and pull at once. When it is full, packets that arrive are dropped ("full"); packets that
 *  nobody has pulled when the program ends are reported as `left`. Annotations stay with packets. Also called
 *  ThreadSafeQueue, FullNoteQueue, QuickNoteQueue, SimpleQueue, NotifierQueue and MSQueue; for the latter three
 *  InfiniteSource does not wait when they are full.
 *
 *  Hot reconfiguration: packets and counts go over to the queue of the same name, as far as it has room for them and
 *  they have the annotations that are read behind it; with the same arguments also a capacity that a handler has set.
 *
 *  Handlers: `length` (r), `highwater_length` (r), `capacity` (rw; packets that wait already stay in their order, also
 *  those beyond a smaller one, which holds for new ones at once), `drops` (r), `reset_counts` (w), `reset` (w, drops
 *  all packets).
 *
 *  Example, receive on one thread and send on another (-j 2):
 *
 *      FromDPDKDevice(0) -> q :: Queue -> u :: Unqueue -> ToDPDKDevice(1); StaticThreadSched(u 1);
 */
class Queue : public Storage {
 public:
  Queue() { retiring.push_back(&rings_); }
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  const char* ports() const override { return "1/1"; }
  const char* processing() const override { return "h/l"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;
  void receive(Batch& batch) override;
  void take_state(Element& old) override;
  uint64_t packets_held() const override { return length(); }
  bool exhausted() const override { return length() == 0; }
  std::string stop() override;
  void handlers(Handlers& list) override;
  unsigned stored() const override { return length(); }
  unsigned room() const override;
  std::optional<unsigned> awaited_room() const override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 protected:
  struct FreeRing {
    void operator()(rte_ring* ring) const { std::free(ring); }
  };
  /** Packets are pushed into the newest ring and pulled from the oldest one; another capacity is another ring. */
  struct Ring {
    std::unique_ptr<rte_ring, FreeRing> ring;
    std::atomic<Ring*> newer{nullptr};
  };
  Ring* newest() const { return rings_.newest.load(std::memory_order_acquire); }

  /** Takes packets [from, to) of `batch` into `ring`, as many as there is room for; returns the first that is left. */
  int keep(Batch& batch, int from, int to, Ring* ring);
  int keep(Batch& batch, int from, Ring* ring) { return keep(batch, from, batch.size(), ring); }
  int keep(Batch& batch, int from) { return keep(batch, from, newest()); }
  /** Leaves packets [from, size) in `batch`, marked as dropped. */
  void drop_from(Batch& batch, int from);

  uint64_t dropped() const { return drops_.load(); }
  /** Takes up to `count` packets out of the front of `ring`, without their columns; returns how many. */
  unsigned take_front(Ring* ring, Packet** packets, unsigned count);
  unsigned capacity() const { return limit_.load(std::memory_order_relaxed); }

  /** How many of `wanted` packets the capacity allows, where others wait in rings before the newest. */
  int allowed(int wanted) const;

  unsigned capacity_ = 1000;  ///< as configured

 private:
  struct Rings : Retiring {
    bool has_retired() const override { return changing; }
    void reclaim() override { changing = false; }
    std::deque<std::unique_ptr<Ring>> all, gone;  // from the oldest on; empty, until the next change
    std::atomic<Ring*> oldest{nullptr}, newest{nullptr};
    std::atomic<bool> changing{false};  // some thread may still be pushing into one that is not the newest
  };
  std::unique_ptr<Ring> make_ring(unsigned capacity) const;
  void set_capacity(unsigned capacity);
  /** What waits: a packet and its columns. A ring wants multiples of 4 bytes. */
  unsigned entry_bytes() const { return static_cast<unsigned>(sizeof(Packet*) + columns_.bytes()); }
  /** Takes up to `count` entries out; returns how many. `entries`: [count][entry_bytes()]. `in_order`: none of a
   *  thread's before one that this has pushed earlier. */
  unsigned take(std::byte* entries, unsigned count, bool in_order);
  /** Frees up to `most` packets; returns how many. */
  unsigned free_packets(unsigned most);
  unsigned length() const;

  ColumnPack columns_;
  Rings rings_;
  std::atomic<unsigned> limit_{0}, highwater_{0};
  std::atomic<uint64_t> drops_{0};
  uint64_t left_ = 0;
};

}  // namespace heddle
