// MinBatch: what goes on together, when, and that nothing is lost.

#include <chrono>
#include <mutex>
#include <numeric>

#include "tests/support/harness.h"

namespace heddle::test {
namespace {

// Notes the sizes of the batches that pass.
struct Sizes {
  std::mutex mutex;
  std::vector<int> list;
};
Sizes& sizes() {
  static Sizes all;
  return all;
}
class TestBatchSizes : public Element {
 public:
  void run_cpu(Batch& batch) override {
    const std::lock_guard lock(sizes().mutex);
    sizes().list.push_back(batch.size());
  }
};
HEDDLE_ELEMENT(TestBatchSizes);

std::vector<Frame> painted_frames(size_t count) {
  auto random = random_for("min batch");
  auto frames = random_frames(random, count, 0, 40);
  for (size_t i = 0; i < count; ++i) frames[i].column[static_cast<int>(Column::paint)] = static_cast<uint32_t>(i % 250);
  return frames;
}

// The sizes of the batches behind it; checks that all packets have come, in order, with their paint.
std::vector<int> sizes_behind(const std::string& arguments, size_t count, const Options& options) {
  const auto frames = painted_frames(count);
  sizes().list.clear();
  const Result result =
      run("TestSource(SETS paint) -> MinBatch(" + arguments + ") -> TestBatchSizes -> sink :: TestSink(READS paint);",
          cpu(), frames, options);
  EXPECT_EQ(result.at("sink").size(), count);
  EXPECT_TRUE(in_order(result.at("sink")));
  for (auto& packet : result.at("sink")) {
    EXPECT_EQ(packet.bytes, frames[static_cast<size_t>(packet.serial)].bytes);
    EXPECT_EQ(packet.column[static_cast<int>(Column::paint)], static_cast<uint32_t>(packet.serial % 250));
  }
  return sizes().list;
}

TEST(MinBatch, WaitsForABurstAndGivesTheRestAtTheEnd) {
  EXPECT_EQ(sizes_behind("32", 100, {.batches = {7}}), (std::vector<int>{35, 35, 30}));
  EXPECT_EQ(sizes_behind("", 70, {.batches = {16}}), (std::vector<int>{32, 32, 6}));
  EXPECT_EQ(sizes_behind("1", 10, {.batches = {3}}), (std::vector<int>{3, 3, 3, 1}));
  EXPECT_EQ(sizes_behind("32", 5, {.batches = {5}}), (std::vector<int>{5}));
  EXPECT_EQ(sizes_behind("32", 0, {}), std::vector<int>{});
  EXPECT_EQ(sizes_behind("BURST 64, TIMER 1s", 192, {.batches = {64, 0}}), (std::vector<int>{64, 64, 64}));
}

TEST(MinBatch, GivesMoreThanABatchHoldsInSeveral) {
  EXPECT_EQ(sizes_behind("40", 100, {.batches = {10}, .batch_size = 16}),
            (std::vector<int>{16, 16, 16, 16, 16, 16, 4}));
}

TEST(MinBatch, WaitsNoLongerThanItsTimer) {
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(sizes_behind("1000, 30ms", 10, {.batches = {5, 0}}), std::vector<int>{10});
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(30));
  // Longer than any test takes, but no packet arrives in vain: the burst is there.
  EXPECT_EQ(sizes_behind("10, 1000s", 10, {.batches = {5, 0}}), std::vector<int>{10});
}

// A timer in microseconds fires although packets keep coming.
TEST(MinBatch, TimesFromTheFirstPacket) {
  const auto list = sizes_behind("2000, 1", 2000, {.batches = {1}});
  EXPECT_GT(list.size(), 2u);
}

TEST(MinBatch, GathersForEachThread) {
  const auto frames = painted_frames(1000);
  const Result result =
      run("TestSource(EVERY_THREAD true, SETS paint) -> MinBatch(64) -> CPUSwitch -> sink :: TestSink(READS paint);",
          cpu(), frames, {.batches = {9}, .threads = 3});
  ASSERT_EQ(result.at("sink").size(), 3 * frames.size());
  for (auto& packet : result.at("sink"))
    ASSERT_EQ(packet.column[static_cast<int>(Column::paint)], static_cast<uint32_t>(packet.serial % 250));
}

TEST(MinBatch, StandsBehindQueuesAndOthers) {
  const auto frames = painted_frames(777);
  const Result result =
      run("TestSource -> t :: Tee; t[0] -> Queue(2000) -> Unqueue -> m :: MinBatch(100) -> MinBatch(7) -> TestSink; "
          "t[1] -> m;",
          cpu(), frames, {.batches = {10}, .threads = 2});
  EXPECT_EQ(result.delivered, 2 * frames.size());
}

TEST(MinBatch, RestComesWhenARunIsStopped) {
  const Result result = run("TestSource -> MinBatch(2000) -> c :: Counter -> d :: TestSink;", cpu(), painted_frames(10),
                            {.batches = {1},
                             .endless = true,
                             .on_packet = [](const std::string&, const Received&) {},
                             .meanwhile =
                                 [](Engine& e) {
                                   while (e.handlers().read("c.count") == "0") continue;
                                 }});
  EXPECT_EQ(result.delivered, result.received);
}

TEST(MinBatch, RefusesToKeepTooMuch) {
  click::Diagnostics diagnostics;
  Chain chain = read("FromDump(/dev/null) -> MinBatch(4000) -> Discard;", {}, diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
  RunOptions options;
  options.threads = 2, options.packets = 4096;
  Engine engine(std::move(chain.router), std::move(chain.plan), options);
  EXPECT_THROW(engine.start(), Error);
  EXPECT_NE(mistakes("Idle -> MinBatch(1, soon) -> Discard;").find("TIMER: 'soon' is not microseconds"),
            std::string::npos);
}

}  // namespace
}  // namespace heddle::test
