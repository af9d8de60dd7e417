// Handlers look for flows while the thread that has them begins and ends others.

#include <atomic>
#include <random>
#include <thread>

#include "functions/flow/table.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

TEST(FlowFind, AnswersForTheFlowThatIsAskedFor) {
  constexpr uint32_t kKeys = 200;
  const auto key_of = [](uint32_t k) { return flow::Key{k, ~k, static_cast<uint16_t>(k), 53, 17}; };
  const std::vector<flow::Watcher*> watchers;
  flow::ThreadTable table(0, 12, {60000, 60000, 60000}, 42, watchers);
  std::atomic<bool> ends{false};
  std::jthread packets([&] {
    std::mt19937 random(random_for("flow find")());
    for (uint32_t now = 1; !ends; ++now) {
      const uint32_t k = random() % kKeys;
      const flow::Key key = key_of(k);
      uint32_t place = 0;
      table.begin_batch();
      table.find_or_add(&key, &now, &place, 1);
      if (place != flow::kNoFlow) table.entry(place).set_word(0, k + 1);
    }
  });
  size_t found = 0;
  for (uint32_t k = 0; found < 2000; k = (k + 1) % kKeys) {
    const uint32_t place = table.find(key_of(k));
    if (place == flow::kNoFlow) continue;
    const uint32_t generation = table.entry(place).generation();
    std::atomic_thread_fence(std::memory_order_acquire);
    const uint64_t word = table.entry(place).word(0);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (table.find(key_of(k)) != place || table.entry(place).generation() != generation) continue;
    ++found;
    ASSERT_TRUE(word == 0 || word == k + 1) << word << " of " << k;
  }
  ends = true;
}

}  // namespace
}  // namespace heddle::test
