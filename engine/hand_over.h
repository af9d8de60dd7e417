#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/cache_line.h"
#include "core/column_pack.h"

namespace heddle {

/** Packets on their way from one thread (the worker) to another (the master), which answers each, and back: a ring in
 *  which a packet keeps its place until the worker has it again. So there is always room for an answer, and the master
 *  waits for nobody. Packets are answered in the order in which they were handed over. */
class HandOver {
 public:
  /** `capacity`: packets on their way at most; a power of two. `there`, `back`: columns that go with them. */
  HandOver(int capacity, ColumnSet there, ColumnSet back);

  int capacity() const { return static_cast<int>(mask_ + 1); }

  // The worker's end.
  /** Hands over packets of `batch` from `first` on, as many as there is room for; returns how many. */
  int give(Batch& batch, int first);
  /** Appends packets that have been answered to `out`, as far as they fit, with next() = the exit and the columns
   *  `back`, up to the first that is lost; false: none. */
  bool take(Batch& out);
  /** The same of packets answered in any way, with next() and columns untouched. */
  void take_lost(Batch& out);
  /** Whether the oldest packet on its way has been lost. */
  bool oldest_is_lost() const;
  uint64_t given() const { return given_.load(std::memory_order_relaxed); }
  uint64_t taken() const { return taken_; }

  // The master's end.
  /** Appends packets that have been handed over to `batch`, as far as they fit, with the columns `there`; returns how
   *  many. */
  int accept(Batch& batch);
  /** Answers the oldest packet that is not: packet `i` of `batch`, with its next() and its columns. */
  void answer(Batch& batch, int i);
  /** The same: it is lost. */
  void lose();
  /** Answers all that have been handed over like this; returns whether there were any. */
  bool lose_all();
  /** Lets the worker see the answers so far. */
  void publish();

 private:
  static constexpr uint16_t kLost = 0xffff;  // in the place of an exit

  size_t place(uint64_t number) const { return static_cast<size_t>(number) & mask_; }
  std::byte* columns_at(uint64_t number) { return &columns_[place(number) * stride_]; }

  const ColumnPack there_, back_;
  const size_t stride_, mask_;
  const std::unique_ptr<Packet*[]> packets_;    // [capacity]
  const std::unique_ptr<uint16_t[]> exits_;     // [capacity], of those that have been answered
  const std::unique_ptr<std::byte[]> columns_;  // [capacity][stride_], laid out as `there_`, then as `back_`

  // Packets so far. Each line is written by one end.
  alignas(kCacheLine) std::atomic<uint64_t> given_{0};
  uint64_t taken_ = 0;
  alignas(kCacheLine) std::atomic<uint64_t> answered_{0};
  uint64_t accepted_ = 0, answering_ = 0;  // answering_: answered, not all published
};

}  // namespace heddle
