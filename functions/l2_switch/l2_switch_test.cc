// The switch in chains: entries that stay on every backend, and what a CPU learns in a batch. learn_test.cc has the
// rest of learning, functions/cuckoo the table.

#include "functions/l2_switch/l2_switch.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <thread>

#include "functions/l2_switch/switch_for_test.h"
#include "tests/support/access.h"
#include "tests/support/arrivals.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

using namespace switching;

HEDDLE_ON_EVERY_BACKEND(L2SwitchTest);

void expect_switched(const Result& result, const std::vector<Frame>& frames, Oracle oracle) {
  std::vector<Bytes> wanted[4];
  uint64_t dropped[3] = {};
  for (const Frame& frame : frames) {
    const int output = oracle.output(frame);
    if (output >= 0)
      wanted[output].push_back(frame.bytes);
    else
      ++dropped[-1 - output];
  }
  EXPECT_EQ(result.drop("sw.short"), dropped[0]);
  EXPECT_EQ(result.drop("sw.same_port"), dropped[1]);
  EXPECT_EQ(result.drop("sw.reserved"), dropped[2]);
  EXPECT_GT(dropped[2], 0u);
  for (int port = 0; port < 4; ++port)
    EXPECT_TRUE(same(result.bytes(format("s%d", port)), wanted[port])) << "output " << port;
}

std::vector<Frame> random_traffic(std::mt19937& random, size_t count, unsigned hosts) {
  std::vector<Frame> frames;
  for (size_t i = 0; i < count; ++i) {
    Mac to = mac(random() % hosts), from = mac(random() % hosts);
    if (random() % 10 == 0) to[0] |= 1;
    if (random() % 30 == 0) to = kBroadcast;
    if (random() % 20 == 0) to = {0x01, 0x80, 0xc2, 0, 0, static_cast<uint8_t>(random() % 32)};
    if (random() % 30 == 0) from[0] |= 1;
    // Most hosts stay at their port, some move; ports that there are not learn nothing.
    const unsigned port = random() % 10 == 0 ? static_cast<unsigned>(random() % 6) : from[5] % 3u;
    frames.push_back(frame_of(to, from, port, random() % 20 == 0 ? random() % 16 : 60));
  }
  return frames;
}

TEST_P(L2SwitchTest, SwitchesByEntriesThatStay) {
  auto random = random_for("l2 stays");
  const std::string path = testing::TempDir() + std::to_string(getpid()) + "heddle_l2.addresses";
  for (const unsigned count : {0u, 5u, 3000u}) {
    Oracle oracle{.ports = 3, .stays = {}, .learns = false};
    std::ofstream out(path);
    out << "# address port\n";
    for (unsigned i = 0; i < count; ++i) {
      const Mac address = mac(2 * i);
      oracle.stays[address] = static_cast<unsigned>(random() % 3);
      out << text(address) << " " << oracle.stays[address] << "\n";
    }
    out.close();
    const auto frames = random_traffic(random, 900, std::max(20u, 4 * count));
    const std::string chain = "TestSource(SETS paint) -> sw :: L2Switch(FILE " + path + ", LEARN false);" + kSinks;
    for (const std::vector<int>& batches : {std::vector<int>{1024}, {0, 1, 31, 32, 33, 1024}})
      expect_switched(run(chain, GetParam(), frames, {.batches = batches}), frames, oracle);
  }
  std::remove(path.c_str());
}

TEST_P(L2SwitchTest, TouchesOnlyWhatItDeclares) {
  AccessOptions options;
  options.outputs = 3;
  options.shape = [](Frame& frame, std::mt19937& random) {
    if (frame.bytes.size() >= 6 && random() % 4 != 0) std::ranges::copy(mac(random() % 3), frame.bytes.begin());
    frame.column[kPaint] = random() % 3;
  };
  // What is learned depends on the packets before.
  EXPECT_EQ(
      access_violations("L2Switch(" + text(mac(0)) + " 0, " + text(mac(1)) + " 1, LEARN false)", GetParam(), options),
      std::vector<std::string>{});
}

// Handlers reach the table on every backend while packets flow.
TEST_P(L2SwitchTest, ChangesUnderTraffic) {
  std::vector<Frame> frames;
  for (unsigned i = 0; i < 64; ++i) frames.push_back(frame_of(mac(1), mac(9), 2));
  Arrivals arrivals;
  Options options = arrivals.options();
  options.meanwhile = [&](Engine& engine) {
    const auto wait_for = [&](size_t port) { arrivals.wait_for(port); };
    for (int change = 0; change < 3; ++change) {
      wait_for(3);
      engine.handlers().write("sw.add", text(mac(1)) + " 0");
      wait_for(0);
      engine.handlers().write("sw.add", text(mac(1)) + " 1");
      wait_for(1);
      engine.handlers().write("sw.remove", text(mac(1)));
    }
    wait_for(3);
    EXPECT_THROW(engine.handlers().write("sw.remove", text(mac(1))), Error);
  };
  run("TestSource(SETS paint) -> sw :: L2Switch(LEARN false);" + kSinks, GetParam(), frames, options);
  EXPECT_EQ(arrivals.at(2), 0u);
}

TEST(L2Switch, LearnsAndFollowsMoves) {
  auto random = random_for("l2 learning");
  const auto frames = random_traffic(random, 3000, 60);
  Oracle oracle{.ports = 3, .stays = {{mac(4), 2}}};
  const Result result = run("TestSource(SETS paint) -> sw :: L2Switch(" + text(mac(4)) + " 2);" + kSinks, cpu(), frames,
                            {.batches = {1}});
  expect_switched(result, frames, oracle);
  EXPECT_GT(result.statistics.at("sw.moved"), 10u);
  EXPECT_EQ(result.statistics.at("sw.entries"), result.statistics.at("sw.learned") + 1);
}

// What a batch teaches holds for the same batch.
TEST(L2Switch, LearnsBeforeItLooksUp) {
  std::vector<Frame> frames = {frame_of(mac(2), mac(1), 0), frame_of(mac(1), mac(2), 1)};
  const Result result = run("TestSource(SETS paint) -> sw :: L2Switch;" + kSinks, cpu(), frames);
  EXPECT_EQ(result.at("s0").size(), 1u);
  EXPECT_EQ(result.at("s1").size(), 1u);
}

// Random addresses fill the table; those that were known go on being switched, and newcomers are flooded.
TEST(L2Switch, SurvivesExhaustion) {
  auto random = random_for("l2 exhaustion");
  std::vector<Frame> frames;
  for (unsigned i = 0; i < 50; ++i) frames.push_back(frame_of(kBroadcast, mac(i), i % 3));
  for (int i = 0; i < 3000; ++i) {
    Mac from;
    for (auto& byte : from) byte = static_cast<uint8_t>(random());
    from[0] = 0x06;
    frames.push_back(frame_of(kBroadcast, from, 0));
  }
  for (unsigned i = 0; i < 50; ++i) frames.push_back(frame_of(mac(i), mac(50), (i + 1) % 3));
  const Result result = run("TestSource(SETS paint) -> sw :: L2Switch(CAPACITY 1000);" + kSinks, cpu(), frames);
  EXPECT_EQ(result.statistics.at("sw.entries"), 1000u);
  EXPECT_GE(result.statistics.at("sw.not_learned"), 2050u);
  EXPECT_EQ(result.at("s3").size(), 3050u);
  EXPECT_EQ(result.at("s0").size() + result.at("s1").size() + result.at("s2").size(), 50u);
}

TEST(L2Switch, PlanSaysHowLookupsAreMade) {
  const std::string chain =
      "TestSource(SETS paint) -> s :: L2Switch(CAPACITY 1000); s[0] -> TestSink; s[1] -> TestSink;";
  const std::string text = plan_text(chain);
  EXPECT_NE(text.find("chosen: look-ups: "), std::string::npos) << text;
  EXPECT_NE(text.find(", the fastest here "), std::string::npos) << text;
  EXPECT_EQ(plan_text(chain, "simt").find("look-ups: "), std::string::npos);
}

TEST(L2Switch, NamesWhatIsWrong) {
  const auto of = [](const std::string& arguments) {
    return mistakes("TestSource(SETS paint) -> sw :: L2Switch(" + arguments + ");" + kSinks);
  };
  EXPECT_EQ(of("2:0:0:0:0:1 2, CAPACITY 1, TIMEOUT 0"), "");
  EXPECT_NE(of("2:0:0:0:0:1 3").find("'3' is not a connected port"), std::string::npos);
  EXPECT_NE(of("1:0:0:0:0:1 1").find("is a group address"), std::string::npos);
  EXPECT_NE(of("2:0:0:0:0:1 1, 2:0:0:0:0:2 1, CAPACITY 1").find("the table is full"), std::string::npos);
  for (const char* arguments :
       {"x", "2:0:0:0:0:1", "2:0:0:0:0:1 1 1", "CAPACITY 0", "TIMEOUT x", "LEARN 2", "FILE none"})
    EXPECT_NE(of(arguments), "") << arguments;
}

}  // namespace
}  // namespace heddle::test
