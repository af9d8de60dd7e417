#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "core/element.h"
#include "elements/ip/aggregate_ip_flows.h"

namespace heddle {

namespace click {
class Arguments;
}

/** NOTIFIER, the name of an AggregateIPFlows, and the flows that it has told to have ended. Packets of theirs may be on
 *  their way here when it does, in the batch that comes next: an element asks when it has seen that one. */
class EndedFlows : public FlowListener {
 public:
  void configure(click::Arguments& arguments);
  /** Throws Error if NOTIFIER is no such element. */
  void link(const Directory& directory);
  bool given() const { return !notifier_.empty(); }

  void flow_ended(uint32_t number) override;
  bool any() const { return count_.load(std::memory_order_relaxed) > 0; }
  /** Calls `visit(number)` for each, in the order in which they ended, and forgets them; ends before one for which it
   *  returns false. */
  template <class Visit>
  void take(const Visit& visit) {
    while (busy_.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
    while (next_ < numbers_.size() && visit(numbers_[next_])) ++next_;
    if (next_ == numbers_.size()) numbers_.clear(), next_ = 0;
    count_.store(numbers_.size() - next_, std::memory_order_relaxed);
    busy_.clear(std::memory_order_release);
  }

 private:
  static constexpr size_t kMax = 1 << 20;

  std::string notifier_;
  std::vector<uint32_t> numbers_;  // at most kMax: what more flows have left behind stays
  size_t next_ = 0;                // of them
  std::atomic<size_t> count_{0};
  std::atomic_flag busy_;
};

}  // namespace heddle
