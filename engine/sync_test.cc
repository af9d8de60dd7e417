// Algorithm 1 against exhaustive search: for every small chain the plan must be sufficient (each reader sees the newest
// value of each field) and no plan that moves fewer fields may be.

#include "engine/sync.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <string>

#include "core/error.h"
#include "tests/support/frames.h"

namespace heddle {
namespace {

constexpr int kMaxFields = 3;

// Versions of one field: where the newest is. A write makes one side the newest and the other old. Fields do not
// influence each other, so one field at a time is searched; a plan's cost is the sum.
struct Where {
  bool host, gpu;  // has the newest value
};

// What a step with the transfer decision `moved` before it does to a field; false when a reader would see an old value.
bool apply(const SyncStep& step, int field, bool moved, bool resident, Where& where) {
  const bool reads = step.reads >> field & 1, writes = step.writes >> field & 1;
  const bool on_gpu = step.processor.is_gpu();
  bool& here = on_gpu ? where.gpu : where.host;
  bool& there = on_gpu ? where.host : where.gpu;
  // A transfer copies what the other side has: an old value over a newer one, too.
  if (moved) here = there;
  if (reads && !here) return false;
  if (writes) here = true, there = false;
  // Without residence the packet leaves the GPU when the CPU gets it. What came with it has come before the step.
  if (!on_gpu && !resident) where.gpu = false;
  return true;
}

// The fewest transfers of `field` with which steps[i..] work.
int cheapest(const std::vector<SyncStep>& steps, size_t i, int field, bool resident, Where where) {
  if (i == steps.size()) return 0;
  int best = INT_MAX;
  for (bool moved : {false, true}) {
    Where then = where;
    if (!apply(steps[i], field, moved, resident, then)) continue;
    const int rest = cheapest(steps, i + 1, field, resident, then);
    if (rest != INT_MAX) best = std::min(best, rest + (moved ? 1 : 0));
  }
  return best;
}

bool moves(const SyncPlan& plan, const std::vector<SyncStep>& steps, size_t i, int field) {
  const AtomSet set = steps[i].processor.is_gpu() ? plan.to_gpu[i] : plan.to_cpu[i];
  return set >> field & 1;
}

std::string text(const std::vector<SyncStep>& steps) {
  std::string text;
  for (auto& step : steps)
    text += format(" %s(r%llx w%llx)", step.processor.is_gpu() ? "gpu" : "cpu",
                   static_cast<unsigned long long>(step.reads), static_cast<unsigned long long>(step.writes));
  return text;
}

// Checks one chain; false after a failure.
bool check_chain(std::vector<SyncStep> steps, int fields, bool resident) {
  for (size_t i = 0; i + 1 < steps.size(); ++i) steps[i].next = {static_cast<int>(i) + 1};
  const SyncPlan plan = synchronise(steps, resident);
  for (size_t i = 0; i < steps.size(); ++i) {
    const AtomSet wrong_way = steps[i].processor.is_gpu() ? plan.to_cpu[i] : plan.to_gpu[i];
    EXPECT_EQ(wrong_way, 0u) << text(steps);
  }
  for (int field = 0; field < fields; ++field) {
    Where where{true, false};
    int moved = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      moved += moves(plan, steps, i, field);
      if (apply(steps[i], field, moves(plan, steps, i, field), resident, where)) continue;
      ADD_FAILURE() << "step " << i << " reads an old field " << field << " in" << text(steps)
                    << (resident ? ", resident" : ", not resident");
      return false;
    }
    const int least = cheapest(steps, 0, field, resident, {true, false});
    EXPECT_EQ(moved, least) << "transfers of field " << field << " in" << text(steps)
                            << (resident ? ", resident" : ", not resident");
    if (moved != least) return false;
  }
  return true;
}

// Every chain of one field and up to five steps, the last of them a port that reads the packet on the CPU. Since fields
// are independent this is the whole space, for any number of fields.
TEST(Synchronise, IsSufficientAndMinimalForEveryShortChain) {
  for (bool resident : {true, false}) {
    for (int length = 0; length <= 5; ++length) {
      int chains = 1;
      for (int i = 0; i < length; ++i) chains *= 8;
      for (int code = 0; code < chains; ++code) {
        std::vector<SyncStep> steps;
        for (int i = 0, rest = code; i < length; ++i, rest /= 8)
          steps.push_back({rest & 1 ? Processor::gpu : Processor::cpu,
                           static_cast<AtomSet>(rest >> 1 & 1),
                           static_cast<AtomSet>(rest >> 2 & 1),
                           {}});
        steps.push_back({Processor::cpu, 1, 0, {}});
        if (!check_chain(steps, 1, resident)) return;
      }
    }
  }
}

// Several fields at once, so that a mix-up between bits shows; the last step may also be on the GPU (a drop).
TEST(Synchronise, IsSufficientAndMinimalForRandomChains) {
  auto random = test::random_for("sync chains");
  for (int round = 0; round < 20000; ++round) {
    const int fields = 1 + static_cast<int>(random() % kMaxFields);
    const AtomSet all = (AtomSet{1} << fields) - 1;
    std::vector<SyncStep> steps(1 + random() % 5);
    for (auto& step : steps)
      step = {random() % 2 ? Processor::gpu : Processor::cpu, random() & all, random() & all & random(), {}};
    if (random() % 4 != 0) steps.back() = {Processor::cpu, all, 0, {}};
    if (!check_chain(steps, fields, random() % 2 == 0)) return;
  }
}

// Follows every way through a graph. A transfer brings a field up to date: on a way where the other side has nothing
// newer, it moves nothing (the engine moves what a packet's own way has changed).
bool follow(const std::vector<SyncStep>& steps, const SyncPlan& plan, size_t i, int field, bool resident, Where where,
            AtomSet& needed) {
  const bool on_gpu = steps[i].processor.is_gpu();
  const bool moved = moves(plan, steps, i, field) && (on_gpu ? where.host : where.gpu);
  if (moved && !(on_gpu ? where.gpu : where.host)) needed |= AtomSet{1} << i;
  if (!apply(steps[i], field, moved, resident, where)) return false;
  return std::all_of(steps[i].next.begin(), steps[i].next.end(), [&](int next) {
    return follow(steps, plan, static_cast<size_t>(next), field, resident, where, needed);
  });
}

TEST(Synchronise, IsSufficientOnEveryWayThroughAGraph) {
  auto random = test::random_for("sync graphs");
  for (int round = 0; round < 20000; ++round) {
    const bool resident = random() % 2 == 0;
    const size_t n = 2 + random() % 6;
    std::vector<SyncStep> steps(n);
    std::vector<bool> has_way_in(n, false);
    for (size_t i = 0; i < n; ++i) {
      steps[i] = {random() % 2 ? Processor::gpu : Processor::cpu, random() & 7, random() & random() & 7, {}};
      if (i > 0 && !has_way_in[i]) steps[random() % i].next.push_back(static_cast<int>(i));
      for (size_t k = i + 1; k < n; ++k)
        if (random() % 3 == 0) steps[i].next.push_back(static_cast<int>(k)), has_way_in[k] = true;
    }
    for (auto& step : steps) {
      std::sort(step.next.begin(), step.next.end());
      step.next.erase(std::unique(step.next.begin(), step.next.end()), step.next.end());
      if (step.next.empty()) step.processor = Processor::cpu, step.reads = 7;
    }
    const SyncPlan plan = synchronise(steps, resident);
    for (int field = 0; field < 3; ++field) {
      AtomSet needed = 0;
      ASSERT_TRUE(follow(steps, plan, 0, field, resident, {true, false}, needed))
          << "field " << field << ", round " << round << text(steps);
      // Nothing in the plan that no way asks for.
      for (size_t i = 0; i < n; ++i)
        ASSERT_TRUE(!moves(plan, steps, i, field) || (needed >> i & 1))
            << "field " << field << " moves before step " << i << " for nobody, round " << round << text(steps);
    }
  }
}

// The example of the text: two GPU steps, then the CPU, then the GPU again.
TEST(Synchronise, MovesAFieldWhenItsFirstReaderComes) {
  const std::vector<SyncStep> steps = {{Processor::gpu, 0b001, 0b010, {1}},
                                       {Processor::gpu, 0b100, 0b000, {2}},
                                       {Processor::cpu, 0b010, 0b001, {3}},
                                       {Processor::gpu, 0b111, 0b000, {4}},
                                       {Processor::cpu, 0b111, 0b000, {}}};
  const SyncPlan resident = synchronise(steps, true);
  EXPECT_EQ(resident.to_gpu, (std::vector<AtomSet>{0b001, 0b100, 0, 0b001, 0}));
  EXPECT_EQ(resident.to_cpu, (std::vector<AtomSet>{0, 0, 0b010, 0, 0}));
  const SyncPlan fresh = synchronise(steps, false);
  EXPECT_EQ(fresh.to_gpu, (std::vector<AtomSet>{0b001, 0b100, 0, 0b111, 0}));
  EXPECT_EQ(fresh.to_cpu, (std::vector<AtomSet>{0, 0, 0b010, 0, 0}));
}

// A buffer, a function on the GPU, one on the CPU that looks at nothing, another on the GPU, and back to the buffer,
// which reads all.
TEST(Synchronise, BringsBackWhatIsReadWhereTheChainGoesBack) {
  const std::vector<SyncStep> steps = {{Processor::cpu, 0b111, 0b000, {1}},
                                       {Processor::gpu, 0b000, 0b001, {2}},
                                       {Processor::cpu, 0b000, 0b000, {3}},
                                       {Processor::gpu, 0b010, 0b010, {0}}};
  const SyncPlan plan = synchronise(steps, false);
  EXPECT_EQ(plan.to_gpu, (std::vector<AtomSet>{0, 0, 0, 0b010}));
  EXPECT_EQ(plan.to_cpu, (std::vector<AtomSet>{0b010, 0, 0b001, 0}));
}

}  // namespace
}  // namespace heddle
