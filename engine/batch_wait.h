#pragma once

#include <algorithm>
#include <cstdint>

namespace heddle {

/** How long packets wait for others on their way to a GPU, where a budget (LATENCY) says how long it may take until
 *  they are back. They do not wait if nothing is under way there, so a batch is what has come meanwhile: few packets at
 *  a low rate, many at a high one. No more wait than are `enough`, and none longer than leaves time for the GPU, which
 *  takes what it took lately. Times are time stamp counters. */
class BatchWait {
 public:
  /** `budget`: ticks, 0: none, and then this is not used. */
  explicit BatchWait(uint64_t budget = 0, int enough = 0) : budget_(budget), enough_(enough) {}
  bool has_budget() const { return budget_ > 0; }

  /** The first of those that are to wait has come. */
  void begin(uint64_t now) { since_ = now; }
  /** Whether those that wait go on. `in_flight`: packets under way before them. */
  bool is_over(int waiting, int in_flight, uint64_t now) const {
    return waiting > 0 && (in_flight == 0 || waiting >= enough_ || now - since_ + took_ >= budget_);
  }

  /** All packets up to number `fed` are on their way. */
  void went(uint64_t fed, uint64_t now) {
    if (!measuring_) measuring_ = true, mark_ = fed, went_ = now;
  }
  /** All packets up to number `returned` are back. */
  void back(uint64_t returned, uint64_t now) {
    if (!measuring_ || returned < mark_) return;
    measuring_ = false;
    const uint64_t took = now - went_;
    // Longer at once, shorter bit by bit: the budget is to be kept, not met on average.
    took_ = std::max(took, took_ - took_ / kMemory);
  }
  /** What the GPU takes is more than the budget. */
  bool is_late() const { return budget_ > 0 && took_ > budget_; }
  uint64_t took() const { return took_; }

 private:
  static constexpr uint64_t kMemory = 16;  ///< batches until a long one is forgotten, about

  uint64_t budget_;
  int enough_;
  uint64_t since_ = 0, took_ = 0;
  bool measuring_ = false;
  uint64_t mark_ = 0, went_ = 0;
};

}  // namespace heddle
