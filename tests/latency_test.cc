// A latency budget: packets wait for others on their way to a GPU, and nothing else changes.

#include "tests/support/harness.h"

namespace heddle::test {
namespace {

constexpr uint64_t kSlotBytes = 256;  // of words, to the GPU

/** LAUNCH of the function, and whether the CPU takes every other batch. */
struct LatencyCase {
  LaunchMode launch;
  bool by_load;
};
class LatencyTest : public testing::TestWithParam<LatencyCase> {
 protected:
  Backend backend() const {
    Backend backend{"simt", "simt", GetParam().launch};
    backend.by_load = GetParam().by_load;
    return backend;
  }
  uint64_t slots(const Result& result) const { return result.report.traffic.at(0).to_gpu / kSlotBytes; }
};
/** Where the GPU takes all. */
class LatencyOnGpuTest : public LatencyTest {};
constexpr LatencyCase kOnGpu[] = {
    {LaunchMode::sync, false}, {LaunchMode::async, false}, {LaunchMode::persistent, false}};
constexpr LatencyCase kOnBoth[] = {{LaunchMode::async, true}, {LaunchMode::persistent, true}};
std::string case_name(const testing::TestParamInfo<LatencyCase>& info) {
  return std::string(name(info.param.launch)) + (info.param.by_load ? "_and_cpu" : "");
}
INSTANTIATE_TEST_SUITE_P(Launches, LatencyTest, testing::ValuesIn(kOnGpu), case_name);
INSTANTIATE_TEST_SUITE_P(InTurn, LatencyTest, testing::ValuesIn(kOnBoth), case_name);
INSTANTIATE_TEST_SUITE_P(Launches, LatencyOnGpuTest, testing::ValuesIn(kOnGpu), case_name);

std::vector<Frame> frames_of(size_t count) {
  auto random = random_for("latency");
  std::vector<Frame> frames;
  for (size_t i = 0; i < count; ++i) frames.push_back(ip_frame(random(), ip(10, 0, 0, random() % 6), random() % 60));
  return frames;
}

// One packet comes at a time; those that come while others are on the GPU share slots.
TEST_P(LatencyOnGpuTest, PacketsShareSlotsWithinTheBudget) {
  const auto frames = frames_of(400);
  const Options options{.batches = {1}};
  const Result alone = run("TestSource -> XOR(90) -> sink :: TestSink;", backend(), frames, options);
  const Result shared = run("TestSource -> XOR(90, LATENCY 10s) -> sink :: TestSink;", backend(), frames, options);
  EXPECT_TRUE(same(shared.bytes("sink"), alone.bytes("sink")));
  EXPECT_TRUE(in_order(shared.at("sink")));
  EXPECT_EQ(slots(alone), frames.size());
  if (GetParam().launch == LaunchMode::sync)
    EXPECT_EQ(slots(shared), frames.size());  // a launch is done before the next packet comes
  else
    EXPECT_LT(slots(shared), frames.size() / 2);
}

// The GPU takes longer than the budget.
TEST_P(LatencyTest, ABudgetThatCannotBeKeptLosesNothing) {
  const auto frames = frames_of(200);
  const Result result =
      run("TestSource -> XOR(90, LATENCY 1us) -> sink :: TestSink;", backend(), frames, {.batches = {1}});
  EXPECT_TRUE(in_order(result.at("sink")));
  EXPECT_EQ(result.delivered, frames.size());
}

// MAX_BATCH bounds what is gathered; what is beyond it in a batch from the source waits for its turn.
TEST_P(LatencyOnGpuTest, NothingIsDroppedForMaxBatch) {
  const auto frames = frames_of(400);
  const Options options{.batches = {100}};
  const Result without = run("TestSource -> x :: XOR(90, MAX_BATCH 8) -> TestSink;", backend(), frames, options);
  EXPECT_EQ(without.drop("x.max_batch"), 4u * 92);
  const Result with =
      run("TestSource -> x :: XOR(90, MAX_BATCH 8, LATENCY 10s) -> sink :: TestSink;", backend(), frames, options);
  EXPECT_EQ(with.dropped, 0u);
  EXPECT_EQ(with.at("sink").size(), frames.size());
  EXPECT_TRUE(in_order(with.at("sink")));
  EXPECT_GE(slots(with), frames.size() / 8);
}

// Packets that wait are on one of several ways; behind them the order is as it was.
TEST_P(LatencyTest, OrderHoldsWhereWaysMeet) {
  const auto frames = frames_of(500);
  const auto chain = [](const std::string& latency) {
    return "TestSource -> c :: Classifier(33/00%01, -); c[0] -> XOR(90" + latency +
           ") -> n :: Null -> sink :: TestSink; c[1] -> EtherMirror(DEVICE cpu) -> n;";
  };
  for (const int batch : {1, 7, 100}) {
    SCOPED_TRACE(batch);
    const Options options{.batches = {batch}};
    const Result with = run(chain(", LATENCY 1ms"), backend(), frames, options);
    const Result without = run(chain(""), backend(), frames, options);
    EXPECT_TRUE(in_order(with.at("sink")));
    EXPECT_TRUE(same(with.bytes("sink"), without.bytes("sink")));
  }
}

TEST_P(LatencyTest, WhatWaitsAtTheEndArrives) {
  const auto frames = frames_of(300);
  Options options{.batches = {3}};
  options.endless = true;
  options.on_packet = [](const std::string&, const Received&) {};
  options.meanwhile = [&](Engine& engine) {
    const std::string text = "TestSource(ENDLESS true) -> XOR(90, LATENCY 1s) -> n :: Null -> sink :: TestSink;";
    for (int i = 0; i < 3; ++i) {
      wait_for_more(engine.handlers(), "sink.count");
      engine.reconfigure([&]() -> Configuration {
        click::Diagnostics diagnostics;
        Chain chain = read(text, backend().plan(), diagnostics);
        if (!diagnostics.ok()) throw Error(diagnostics.text());
        return {std::move(chain.router), std::move(chain.plan)};
      });
    }
  };
  // The harness adds up what came, arrived and was dropped.
  const Result result = run("TestSource(ENDLESS true) -> XOR(90, LATENCY 1s) -> n :: Null -> sink :: TestSink;",
                            backend(), frames, options);
  EXPECT_GT(result.delivered, 0u);
  EXPECT_EQ(result.dropped, 0u);
}

TEST(LatencyPlan, ASegmentHasTheShortestBudgetOfItsFunctions) {
  const std::string text = plan_text("TestSource -> XOR(1, LATENCY 1ms) -> XOR(2, LATENCY 200us) -> TestSink;", "simt");
  EXPECT_NE(text.find("latency     packets wait for others while they can be back within 200 us"), text.npos) << text;
  EXPECT_EQ(plan_text("TestSource -> XOR(1) -> TestSink;", "simt").find("latency "), std::string::npos);
}

TEST(LatencyPlan, ABudgetIsFromAMicrosecondToTenSeconds) {
  for (const std::string time : {"soon", "0", "0us", "100ns", "200", "10.1s"})
    EXPECT_NE(mistakes("TestSource -> x :: XOR(1, LATENCY " + time + ") -> TestSink;", "simt")
                  .find("XOR 'x': LATENCY: '" + time + "' is not a time from 1us to 10s, such as 200us"),
              std::string::npos)
        << time;
  EXPECT_EQ(mistakes("TestSource -> XOR(1, LATENCY 1us) -> TestSink;", "simt"), "");
}

TEST(LatencyPlan, NobodyWaitsBetweenGpuPorts) {
  const auto chain = [](const std::string& more) {
    return "FromGPUPort(a, SOCKET /run/a.sock) -> x :: XOR(1" + more + ") -> ToGPUPort(b, SOCKET /run/b.sock);";
  };
  for (const char* more : {"", ", TRANSPORT direct", ", TRANSPORT gather", ", BLOCKING true"})
    EXPECT_EQ(mistakes(chain(more), "simt"), "") << more;
  for (const std::string more : {"LATENCY 200us", "LAUNCH async", "PERSISTENT true", "MAX_BATCH 32", "CAPACITY 2",
                                 "LISTS_PER_CORE 3", "QUEUES_PER_CORE 3", "BLOCKING false", "TRANSPORT landing"}) {
    const std::string said = mistakes(chain(", " + more), "simt"), keyword = more.substr(0, more.find(' '));
    EXPECT_NE(said.find("between GPU ports the GPU takes packets as they come"), std::string::npos) << more;
    EXPECT_NE(said.find(keyword), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace heddle::test
