// LAUNCH graph: whatever slots a batch fills, what is launched is a graph. On simt, which counts launches.

#include "simt/launches.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

void expect_graphs_alone(const std::string& functions, const std::vector<int>& batches, size_t count) {
  auto random = random_for("graphs");
  const auto frames = random_frames(random, count, 60, 90);
  std::vector<Bytes> wanted;
  for (const Frame& frame : frames) {
    wanted.push_back(frame.bytes);
    for (uint8_t& byte : wanted.back()) byte ^= 0x5a;
  }
  const simt::Launches before = simt::launches();
  const Result result = run("TestSource -> " + functions + " -> sink :: TestSink;",
                            {"simt_graph", "simt", LaunchMode::graph}, frames, {.batches = batches, .packets = 16384});
  EXPECT_TRUE(same(result.bytes(), wanted));
  const simt::Launches now = simt::launches();
  EXPECT_EQ(now.single, before.single);
  EXPECT_GE(now.graphs - before.graphs, count / 1024);
}

TEST(GraphLaunches, OfWholeBatches) { expect_graphs_alone("XOR(0x5a)", {1024}, 20 * 1024); }

// From then on no batch begins at a multiple of its slots.
TEST(GraphLaunches, OfWholeBatchesBehindAFewPackets) { expect_graphs_alone("XOR(0x5a)", {5, 1024, 1024, 1024}, 9000); }

TEST(GraphLaunches, OfBatchesOfAllSizes) { expect_graphs_alone("XOR(0x5a)", {1, 31, 0, 32, 33, 700, 1024}, 6000); }

TEST(GraphLaunches, OfBatchesThatAreGathered) { expect_graphs_alone("MinBatch(992) -> XOR(0x5a)", {32}, 8000); }

TEST(GraphLaunches, OfListsThatHoldSeveralBatches) {
  expect_graphs_alone("XOR(0x5a, CAPACITY 2, LISTS_PER_CORE 4, MAX_BATCH 1024)", {1024}, 8 * 1024);
}

}  // namespace
}  // namespace heddle::test
