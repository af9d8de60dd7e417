#include "engine/sync.h"

namespace heddle {
namespace {

// Fields that a step on the CPU, or anything behind it, reads before they are overwritten.
std::vector<AtomSet> live_before(const std::vector<SyncStep>& steps) {
  std::vector<AtomSet> live(steps.size(), 0);
  for (size_t i = steps.size(); i-- > 0;) {
    AtomSet behind = 0;
    for (int next : steps[i].next) behind |= live[static_cast<size_t>(next)];
    live[i] = steps[i].reads | (behind & ~steps[i].writes);
  }
  return live;
}

}  // namespace

SyncPlan synchronise(const std::vector<SyncStep>& steps, bool resident) {
  const size_t n = steps.size();
  SyncPlan plan{std::vector<AtomSet>(n, 0), std::vector<AtomSet>(n, 0)};
  std::vector<AtomSet> old_on_gpu(n, 0), old_on_cpu(n, 0);  // before step i: fields whose newest value is elsewhere
  std::vector<bool> reached(n, false), flushed(n, false);
  const std::vector<AtomSet> live = live_before(steps);
  for (size_t i = 0; i < n; ++i) {
    const SyncStep& step = steps[i];
    if (flushed[i]) {
      plan.to_cpu[i] = old_on_cpu[i] & live[i];
      old_on_cpu[i] &= ~plan.to_cpu[i];
      old_on_gpu[i] = ~AtomSet{0};
    }
    if (!reached[i]) old_on_gpu[i] = ~AtomSet{0};  // a first step: the packet has just been received by the host
    AtomSet gpu = old_on_gpu[i], cpu = old_on_cpu[i];
    if (step.processor.is_gpu()) {
      plan.to_gpu[i] = gpu & step.reads;
      gpu &= ~(step.reads | step.writes);
      cpu |= step.writes;
    } else {
      plan.to_cpu[i] |= cpu & (resident ? step.reads : live[i]);
      if (!resident) gpu = ~AtomSet{0};
      cpu &= ~(plan.to_cpu[i] | step.writes);
      gpu |= step.writes;
    }
    for (int next : step.next) {
      const auto k = static_cast<size_t>(next);
      old_on_gpu[k] |= gpu, old_on_cpu[k] |= cpu;
      reached[k] = true;
      // From one GPU segment to another, packets go by way of the host.
      if (!resident && step.processor.is_gpu() && steps[k].processor.is_gpu() && steps[k].segment != step.segment)
        flushed[k] = true;
    }
  }
  return plan;
}

}  // namespace heddle
