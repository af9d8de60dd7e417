#include "functions/echo/echo.h"

#include "tests/support/access.h"
#include "tests/support/every_class.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

HEDDLE_ON_EVERY_BACKEND(EchoTest);
HEDDLE_TESTED_WITH_ALL(Echo, .outputs = 2, .refuses = {"1", "SEED x", "DEVICE 7"});

// 20000 packets: a share of 1/4 has a standard deviation of 61, pairs of neighbours 1/16 one of 34; six of them are
// allowed.
TEST_P(EchoTest, EveryOutputIsAsLikelyWhateverWasBefore) {
  auto random = random_for("echo");
  const auto frames = random_frames(random, 20000, 14, 70);
  const Result result =
      run("TestSource -> e :: Echo(SEED 7); e[0] -> s0 :: TestSink; e[1] -> s1 :: TestSink; e[2] -> s2 :: TestSink;"
          "e[3] -> s3 :: TestSink;",
          GetParam(), frames, {.batches = {1024, 1, 33, 0, 64}});
  std::vector<int> output(frames.size(), -1);
  for (int port = 0; port < 4; ++port) {
    const auto& got = result.at(format("s%d", port));
    EXPECT_NEAR(static_cast<double>(got.size()), 5000, 6 * 61);
    EXPECT_TRUE(in_order(got));
    for (const Received& packet : got) {
      ASSERT_EQ(packet.bytes, frames[static_cast<size_t>(packet.serial)].bytes);
      ASSERT_EQ(output[static_cast<size_t>(packet.serial)], -1);
      output[static_cast<size_t>(packet.serial)] = port;
    }
  }
  int pairs[4][4] = {};
  for (size_t i = 0; i + 1 < output.size(); ++i) ++pairs[output[i]][output[i + 1]];
  for (const auto& row : pairs)
    for (const int count : row) EXPECT_NEAR(count, 1250, 6 * 34);
}

TEST_P(EchoTest, HasOneOutputAtLeast) {
  auto random = random_for("echo one");
  const auto frames = frames_of_all_lengths(random);
  std::vector<Bytes> wanted;
  for (const Frame& frame : frames) wanted.push_back(frame.bytes);
  EXPECT_TRUE(same(run("TestSource -> Echo -> sink :: TestSink;", GetParam(), frames).bytes(), wanted));
}

TEST(Echo, RepeatsItselfWithTheSameSeedAlone) {
  auto random = random_for("echo seeds");
  const auto frames = random_frames(random, 500, 14, 70);
  const auto with = [&](int seed) {
    return run(format("TestSource -> e :: Echo(SEED %d); e[0] -> s0 :: TestSink; e[1] -> s1 :: TestSink;", seed),
               backends()[0], frames)
        .bytes("s0");
  };
  EXPECT_EQ(with(3), with(3));
  EXPECT_NE(with(3), with(4));
}

}  // namespace
}  // namespace heddle::test
