#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <vector>

#include "gpu/device.h"
#include "gpu/slot.h"

namespace heddle::gpu {

/** The host's end of a group of slots: hands out free ones, keeps those in flight in order. One thread uses it. No CUDA in here: slots are plain memory that both sides see. */
class SlotRing {
 public:
  explicit SlotRing(SlotGroup group)
      : group_(group),
        stamp_(static_cast<size_t>(group.count), 1),
        fifo_(std::bit_ceil(static_cast<size_t>(group.count))),
        free_((static_cast<size_t>(group.count) + 63) / 64, 0) {
    for (int i = 0; i < group.count; ++i) free_[static_cast<size_t>(i) / 64] |= uint64_t{1} << (i % 64);
  }

  int in_flight() const { return static_cast<int>(tail_ - head_); }
  int count() const { return group_.count; }

  /** A free slot, the lowest, so that few warps are awake when few are needed; -1 if all are in flight. */
  int free_slot() const {
    for (size_t w = 0; w < free_.size(); ++w)
      if (free_[w] != 0) return static_cast<int>(w * 64) + std::countr_zero(free_[w]);
    return -1;
  }

  /** The slot's memory: columns may be written before submit(). */
  Slot& slot(int index) { return group_.slots[index]; }

  /** Hands `count` packets (1..kTile) to the GPU: `place[i]` = length << 40 | offset of packet i from the packet
   * memory. */
  void submit(int index, const uint64_t* place, int count) {
    const uint64_t stamp = uint64_t{stamp_[static_cast<size_t>(index)]} << 56;
    uint64_t* word = group_.slots[index].word;
    for (int i = 0; i < count; ++i) __atomic_store_n(&word[i], stamp | place[i], __ATOMIC_RELEASE);
    for (int i = count; i < kTile; ++i) __atomic_store_n(&word[i], stamp | kNoPacket, __ATOMIC_RELEASE);
    free_[static_cast<size_t>(index) / 64] &= ~(uint64_t{1} << (index % 64));
    fifo_[tail_++ & (fifo_.size() - 1)] = static_cast<uint16_t>(index);
  }

  /** The slot in flight the longest; only if in_flight() > 0. */
  int oldest() const { return fifo_[head_ & (fifo_.size() - 1)]; }

  /** Whether the oldest slot in flight is done: all its result words carry its stamp. */
  bool oldest_done() const {
    const int index = oldest();
    const uint32_t* result = group_.slots[index].result;
    const uint32_t stamp = stamp_[static_cast<size_t>(index)] << 24;
    uint32_t difference = 0;
    for (int i = 0; i < kTile; ++i) difference |= __atomic_load_n(&result[i], __ATOMIC_ACQUIRE) ^ stamp;
    return difference >> 24 == 0;
  }

  /** Exit of packet `i` of a slot that is done. */
  uint32_t exit_of(int index, int i) const {
    return gpu::exit_of(__atomic_load_n(&group_.slots[index].result[i], __ATOMIC_RELAXED));
  }
  /** By how many bytes the end of that packet has moved. */
  int tail_of(int index, int i) const {
    return gpu::tail_of(__atomic_load_n(&group_.slots[index].result[i], __ATOMIC_RELAXED));
  }

  /** Gives the oldest slot back. */
  void release_oldest() {
    const int index = oldest();
    ++head_;
    // The GPU's writes have taken these lines from the cache: fetch them while the slots before are looked at.
    const uint32_t* ahead = group_.slots[fifo_[(head_ + kPrefetchSlots) & (fifo_.size() - 1)]].result;
    for (int i = 0; i < kTile; i += 16) __builtin_prefetch(ahead + i);
    stamp_[static_cast<size_t>(index)] = next_stamp(stamp_[static_cast<size_t>(index)]);
    free_[static_cast<size_t>(index) / 64] |= uint64_t{1} << (index % 64);
  }

 private:
  static constexpr uint64_t kPrefetchSlots = 3;

  SlotGroup group_;
  std::vector<uint32_t> stamp_;  // of the slot's use now in flight, or its next one
  std::vector<uint16_t> fifo_;   // indices of slots in flight, in order
  uint64_t head_ = 0, tail_ = 0;
  std::vector<uint64_t> free_;  // bitmap
};

}  // namespace heddle::gpu
