#pragma once

#include <bit>
#include <cstring>
#include <vector>

#include "gpu/device.h"
#include "gpu/slot.h"

namespace heddle::gpu {

/** The host's end of a group of slots: hands out free ones, keeps those in flight in order. One thread uses it. No CUDA
 *  in here: slots are plain memory that both sides see. */
class SlotRing {
 public:
  static constexpr int kMaxSlots = 1 << 16;

  /** `group`: of 1 to kMaxSlots slots. `program`: what the slots are to run, in device memory. */
  SlotRing(SlotGroup group, const Program* program)
      : group_(group),
        program_(program),
        upper_(static_cast<size_t>(group.count)),
        fifo_(std::bit_ceil(static_cast<size_t>(group.count))),
        free_((static_cast<size_t>(group.count) + 63) / 64, 0) {
    for (int i = 0; i < group.count; ++i) {
      upper_[static_cast<size_t>(i)] = after(group.slots[i].word[0]) | kSwitch;  // a fresh word is 0
      free_[static_cast<size_t>(i) / 64] |= uint64_t{1} << (i % 64);
    }
  }

  const SlotGroup& group() const { return group_; }
  int in_flight() const { return static_cast<int>(tail_ - head_); }
  int count() const { return group_.count; }

  /** A free slot, the lowest, so that few warps are awake when few are needed; -1 if all are in flight. */
  int free_slot() const {
    for (size_t w = 0; w < free_.size(); ++w)
      if (free_[w] != 0) return static_cast<int>(w * 64) + std::countr_zero(free_[w]);
    return -1;
  }

  /** Slots in the order of the ring, for launches of neighbouring ones: the one behind that used last, or -1 if all are
   *  in flight. A ring is used by free_slot() or by next_slot(), not by both. */
  int next_slot() const { return in_flight() < count() ? next_index() : -1; }
  int next_index() const { return static_cast<int>(tail_ % static_cast<uint64_t>(count())); }

  /** From their next use on slots run `program`. */
  void switch_to(const Program* program) {
    program_ = program;
    for (uint64_t& upper : upper_) upper |= kSwitch;
  }

  /** The slot's memory: columns may be written before submit(). */
  Slot& slot(int index) { return group_.slots[index]; }

  /** Hands `count` packets (1..kSlotPackets) to the GPU: `place[i]` = length << 40 | offset of packet i from the packet
   *  memory's base, or what stands for it. What the caller wrote to the slot before is visible to the GPU with them. */
  void submit(int index, const uint64_t* place, int count) {
    const auto i = static_cast<size_t>(index);
    Slot& slot = group_.slots[index];
    const uint64_t upper = upper_[i];
    if ((upper & kSwitch) != 0) [[unlikely]] {
      slot.program = program_;
      upper_[i] &= ~kSwitch;
    }
    for (int p = 0; p < count; ++p) __atomic_store_n(&slot.word[p], upper | place[p], __ATOMIC_RELEASE);
    for (int p = count; p < kSlotPackets; ++p) __atomic_store_n(&slot.word[p], upper | kNoPacket, __ATOMIC_RELEASE);
    free_[i / 64] &= ~(uint64_t{1} << (i % 64));
    fifo_[tail_++ & (fifo_.size() - 1)] = static_cast<uint16_t>(index);
  }

  /** The slot in flight the longest; only if in_flight() > 0. */
  int oldest() const { return fifo_[head_ & (fifo_.size() - 1)]; }

  /** Whether the oldest slot in flight is done: all its result words carry its stamp. */
  bool oldest_done() const {
    const auto index = static_cast<size_t>(oldest());
    const auto& result = group_.slots[index].result;
    const uint64_t upper = upper_[index];  // a copy: after each load that acquires it would be read again
    if (group_.wide_results) {
      uint64_t difference = 0;
      for (const uint64_t& word : result.wide) difference |= __atomic_load_n(&word, __ATOMIC_ACQUIRE) ^ upper;
      return stamp_of(difference) == 0;
    }
    const auto narrow = static_cast<uint32_t>(upper >> 32);
    uint32_t difference = 0;
    for (const uint32_t& word : result.narrow) difference |= __atomic_load_n(&word, __ATOMIC_ACQUIRE) ^ narrow;
    return difference >> 24 == 0;
  }

  /** What has become of packet `i` of a slot that is done. */
  Outcome outcome(int index, int i) const {
    const auto& result = group_.slots[index].result;
    if (group_.wide_results) return outcome_of(__atomic_load_n(&result.wide[i], __ATOMIC_RELAXED));
    return outcome_of(__atomic_load_n(&result.narrow[i], __ATOMIC_RELAXED));
  }

  /** Sets next[i] to the exit of packet i of a slot that is done, for its first `count` packets. */
  void exits(int index, uint16_t* next, int count) const {
    const auto& result = group_.slots[index].result;
    const auto copy = [&](const auto& words) {
      for (int i = 0; i < count; ++i) next[i] = static_cast<uint16_t>(outcome_of(words[i]).exit);
    };
    // No atomic loads, for which each word is loaded by itself: oldest_done() has seen all of them.
    group_.wide_results ? copy(result.wide) : copy(result.narrow);
  }

  /** Gives the oldest slot back. */
  void release_oldest() {
    const auto index = static_cast<size_t>(oldest());
    ++head_;
    // The GPU's writes have taken these lines from the cache: fetch them while the slots before are looked at.
    const auto* ahead =
        reinterpret_cast<const std::byte*>(&group_.slots[fifo_[(head_ + kPrefetchSlots) & (fifo_.size() - 1)]].result);
    const size_t bytes = kSlotPackets * (group_.wide_results ? sizeof(uint64_t) : sizeof(uint32_t));
    for (size_t at = 0; at < bytes; at += 64) __builtin_prefetch(ahead + at);
    upper_[index] = after(upper_[index]) | (upper_[index] & kSwitch);
    free_[index / 64] |= uint64_t{1} << (index % 64);
  }

 private:
  static constexpr uint64_t kPrefetchSlots = 3;
  /** The stamp of the use after that of `word`, where words have it. */
  static uint64_t after(uint64_t word) { return uint64_t{next_stamp(stamp_of(word))} << 56; }

  SlotGroup group_;
  const Program* program_;
  std::vector<uint64_t> upper_;  // by slot, what words of its use now in flight, or its next one, have above the place:
                                 // the stamp; and `switch` if its next use is the first one of program_
  std::vector<uint16_t> fifo_;   // indices of slots in flight, in order
  uint64_t head_ = 0, tail_ = 0;
  std::vector<uint64_t> free_;  // bitmap
};

}  // namespace heddle::gpu
