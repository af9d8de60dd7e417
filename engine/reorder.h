#pragma once

#include <memory>
#include <vector>

#include "core/batch.h"

namespace heddle {

/** Empty batches of one thread. */
class SpareBatches {
 public:
  SpareBatches(int capacity, int thread) : capacity_(capacity), thread_(thread) {}

  int capacity() const { return capacity_; }
  /** Makes sure that so many more are there, so that borrow() need not make any. */
  void add(size_t count);
  std::unique_ptr<Batch> borrow();
  void give_back(std::unique_ptr<Batch> batch) { spare_.push_back(std::move(batch)); }

 private:
  std::unique_ptr<Batch> make() const;

  int capacity_, thread_;
  size_t made_ = 0;
  std::vector<std::unique_ptr<Batch>, Unshared<std::unique_ptr<Batch>>> spare_;
};

/** Whether number `a` was given before `b`; numbers go round, and those in use are less than 2^31 apart. */
inline bool earlier(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) < 0; }

/** Packets that wait at a join. On each of its ways they come with rising numbers; they go on by their numbers (copies
 *  of one packet, which have the same, in the order of the ways). */
class Reorder {
 public:
  /** `columns`: those that somebody behind reads. `usual`: packets for which there are batches from the start; `most`:
   *  those that can wait at all. */
  Reorder(int ways, ColumnSet columns, size_t usual, size_t most, SpareBatches& spare);

  /** Takes all packets of `batch`, which came by way `way`. */
  void add(int way, Batch& batch);
  /** Moves the next packets with numbers before `limit` to `out`, which is empty and as large as the spare batches;
   *  call it until there are none: false. */
  bool release(uint32_t limit, Batch& out);
  int waiting() const { return waiting_; }
  /** Packets that have come since the last call and are still here: they wait for some that are in flight. */
  uint64_t count_new();

 private:
  /** A queue of packets in batches: all but the last are full. */
  struct Way {
    std::vector<std::unique_ptr<Batch>> ring;  // [a power of two]
    size_t head = 0, tail = 0;                 // batches
    int first = 0;                             // packet of the first batch
    int size = 0, old = 0;                     // packets; those that count_new() knows

    Batch& front() { return *ring[head & (ring.size() - 1)]; }
    Batch& back() { return *ring[(tail - 1) & (ring.size() - 1)]; }
    uint32_t number() { return front().numbers()[first]; }
  };
  /** Whether way `a` gives its next packet before `b`. */
  bool before(int a, int b);
  void pop(Way& way, Batch& out);
  /** The same with the whole batch that is first, without copying; false: some packet of it must stay, or some have
   *  gone. */
  bool pop_batch(Way& way, uint32_t limit, Batch& out);

  ColumnSet columns_;
  SpareBatches& spare_;
  std::vector<Way> ways_;
  std::vector<int> heap_;  // ways that have packets to release, the next one first
  int waiting_ = 0;
};

/** The numbers of packets in flight in a lane, in order: they stay with the thread. */
class NumbersInFlight {
 public:
  explicit NumbersInFlight(int capacity);
  void push(const uint32_t* numbers, int count) {
    for (int i = 0; i < count; ++i) ring_[tail_++ & mask_] = numbers[i];
  }
  void pop(uint32_t* numbers, int count) {
    for (int i = 0; i < count; ++i) numbers[i] = ring_[head_++ & mask_];
  }
  bool empty() const { return head_ == tail_; }
  uint32_t oldest() const { return ring_[head_ & mask_]; }

 private:
  std::vector<uint32_t> ring_;  // [a power of two]
  size_t mask_, head_ = 0, tail_ = 0;
};

}  // namespace heddle
