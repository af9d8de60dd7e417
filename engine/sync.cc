#include "engine/sync.h"

namespace heddle {
namespace {

// Fields that a step on the CPU, or anything behind it, reads before they are overwritten.
std::vector<AtomSet> live_before(const std::vector<SyncStep>& steps) {
  std::vector<AtomSet> live(steps.size(), 0);
  for (bool changed = true; changed;) {  // once, but for steps that go back
    changed = false;
    for (size_t i = steps.size(); i-- > 0;) {
      AtomSet behind = 0;
      for (int next : steps[i].next) behind |= live[static_cast<size_t>(next)];
      const AtomSet now = steps[i].reads | (behind & ~steps[i].writes);
      changed = changed || now != live[i];
      live[i] = now;
    }
  }
  return live;
}

}  // namespace

SyncPlan synchronise(const std::vector<SyncStep>& steps, bool resident) {
  const size_t n = steps.size();
  SyncPlan plan;
  std::vector<AtomSet> old_on_gpu(n, 0), old_on_cpu(n, 0);  // before step i: fields whose newest value is elsewhere
  std::vector<bool> reached(n, false), first(n, false), flushed(n, false);
  const std::vector<AtomSet> live = live_before(steps);
  const auto round = [&] {  // whether a step that another goes back to has learnt something
    bool changed = false;
    plan.to_gpu.assign(n, 0), plan.to_cpu.assign(n, 0);
    for (size_t i = 0; i < n; ++i) {
      const SyncStep& step = steps[i];
      AtomSet gpu = old_on_gpu[i], cpu = old_on_cpu[i];
      if (flushed[i]) {
        plan.to_cpu[i] = cpu & live[i];
        cpu &= ~plan.to_cpu[i];
        gpu = ~AtomSet{0};
      }
      if (!reached[i]) first[i] = true;
      if (first[i]) gpu = ~AtomSet{0};  // the packet has just been received by the host
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
        // From one GPU segment to another, packets go by way of the host.
        const bool flushes =
            !resident && step.processor.is_gpu() && steps[k].processor.is_gpu() && steps[k].segment != step.segment;
        if (k <= i)
          changed = changed || ((gpu & ~old_on_gpu[k]) | (cpu & ~old_on_cpu[k])) != 0 || (flushes && !flushed[k]);
        old_on_gpu[k] |= gpu, old_on_cpu[k] |= cpu;
        reached[k] = true;
        flushed[k] = flushed[k] || flushes;
      }
    }
    return changed;
  };
  while (round()) continue;
  return plan;
}

}  // namespace heddle
