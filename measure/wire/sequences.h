#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace heddle::bench {

/** Tells packets that arrive in order from those that are reordered or duplicates, for every flow.
 *
 *  Reordered is Type-P-Reordered of RFC 4737: the sequence number is less than the next one expected, which is one more
 *  than the highest seen. A duplicate is not reordered; the first copy to arrive is the packet. Which numbers have
 *  arrived is known for the last window() of each flow, in a ring of bits as RFC 6479 has it: within it duplicates are
 *  found exactly, and an older packet counts as reordered. */
class Sequences {
 public:
  enum Verdict { kInOrder, kReordered, kDuplicate };

  /** With `shared`, several threads may see packets of the same flow. */
  Sequences(uint32_t flows, bool shared);

  /** How far back duplicates are found: the number of packets of a flow. */
  uint32_t window() const { return (words_ - 1) * 64; }

  /** `flow` < flows. */
  Verdict see(uint32_t flow, uint32_t sequence) {
    State& state = states_[flow];
    if (shared_) lock(state);
    const Verdict verdict = judge(state, seen_.get() + static_cast<size_t>(flow) * stride_, sequence);
    if (shared_) state.taken.store(false, std::memory_order_release);
    return verdict;
  }

 private:
  struct State {
    uint32_t next = 0;  ///< expected
    std::atomic<bool> taken{false};
  };

  static void lock(State& state) {
    while (state.taken.exchange(true, std::memory_order_acquire)) __builtin_ia32_pause();
  }

  uint64_t& word_of(uint64_t* seen, uint32_t sequence) const { return seen[sequence / 64 & (words_ - 1)]; }

  Verdict judge(State& state, uint64_t* seen, uint32_t sequence) {
    const uint64_t bit = uint64_t{1} << sequence % 64;
    const auto ahead = static_cast<int32_t>(sequence - state.next);
    if (ahead >= 0) [[likely]] {
      if (sequence / 64 != (state.next - 1) / 64) enter_words(seen, state.next, sequence);
      word_of(seen, sequence) |= bit;
      state.next = sequence + 1;
      return kInOrder;
    }
    if (static_cast<uint32_t>(-ahead) > window()) return kReordered;
    uint64_t& word = word_of(seen, sequence);
    if ((word & bit) != 0) return kDuplicate;
    word |= bit;
    return kReordered;
  }

  void enter_words(uint64_t* seen, uint32_t next, uint32_t sequence);

  uint32_t words_;  ///< of a flow, a power of two
  /** From a flow's words to the next's: a power of two would put all flows into a few sets of the cache. */
  uint32_t stride_;
  bool shared_;
  std::unique_ptr<State[]> states_;   // [flows]
  std::unique_ptr<uint64_t[]> seen_;  // [flows][stride_]
};

}  // namespace heddle::bench
