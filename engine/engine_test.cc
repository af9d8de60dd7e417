// The engine under pressure: few slots, few packets, stop under traffic, restarts. Every packet is accounted for: run()
// checks that received = delivered + dropped, and that all buffers have come back.

#include "engine/engine.h"

#include <unistd.h>

#include "tests/support/harness.h"

namespace heddle::test {
namespace {

HEDDLE_ON_EVERY_BACKEND(EngineTest);

constexpr const char* kMirror = "TestSource -> m :: EtherMirror -> sink :: TestSink;";

std::vector<Frame> short_frames(size_t count) {
  auto random = random_for("engine");
  return random_frames(random, count, 12, 64);
}

TEST_P(EngineTest, WaitsForSlotsAndLosesNothing) {
  const auto frames = short_frames(700);
  for (int slots : {1, 2}) {
    const Result result = run(kMirror, GetParam(), frames, {.batches = {1024, 5}, .slots = slots});
    EXPECT_EQ(result.delivered, frames.size());
    EXPECT_TRUE(in_order(result.at("sink")));
  }
}

// Two segments one behind the other: the first is emptied while the second is full.
TEST_P(EngineTest, WaitsForSlotsOfASecondSegment) {
  const auto frames = short_frames(500);
  const Result result =
      run("TestSource -> EtherMirror -> Classifier(-) -> XOR(1) -> Classifier(-) -> XOR(1)"
          "-> EtherMirror -> sink :: TestSink;",
          GetParam(), frames, {.batches = {300}, .slots = 1});
  ASSERT_EQ(result.delivered, frames.size());
  for (size_t i = 0; i < frames.size(); ++i) ASSERT_EQ(result.at("sink")[i].bytes, frames[i].bytes);
}

TEST_P(EngineTest, DropsAndCountsIfToldNotToWait) {
  const auto frames = short_frames(1000);
  const Result result = run("TestSource -> m :: EtherMirror(BLOCKING false) -> sink :: TestSink;", GetParam(), frames,
                            {.batches = {1000}, .slots = 2});
  EXPECT_EQ(result.delivered + result.drop("m.no_slot"), frames.size());
  EXPECT_TRUE(in_order(result.at("sink")));
  if (GetParam().launch == LaunchMode::sync || !GetParam().on_gpu()) {
    EXPECT_EQ(result.drop("m.no_slot"), 0u);
  } else {
    EXPECT_GE(result.delivered, 64u);  // the first two slots
  }
}

TEST_P(EngineTest, WaitsForPacketsAndLosesNothing) {
  const auto frames = short_frames(500);
  for (unsigned packets : {1u, 7u, 40u}) {
    const Result result = run(kMirror, GetParam(), frames, {.packets = packets});
    EXPECT_EQ(result.delivered, frames.size());
    EXPECT_TRUE(in_order(result.at("sink")));
  }
}

// Copies need packets, too: what cannot be copied is dropped under a name, and nothing else is lost.
TEST_P(EngineTest, CountsCopiesThatFoundNoPacket) {
  const auto frames = short_frames(400);
  const Result result =
      run("TestSource -> t :: Tee; t[0] -> a :: EtherMirror -> one :: TestSink; t[1] -> b :: XOR -> two :: TestSink;",
          GetParam(), frames, {.packets = 50});
  EXPECT_EQ(result.at("one").size() + result.drop("a.no_buffer"), frames.size());
  EXPECT_EQ(result.at("two").size() + result.drop("b.no_buffer") + result.drop("t.no_buffer"), frames.size());
  EXPECT_GT(result.dropped, 0u);
}

// Batches smaller than a slot.
TEST_P(EngineTest, WorksWithBatchesOfAnyCapacity) {
  const auto frames = short_frames(200);
  for (int capacity : {1, 7, 31, 32, 33, 100}) {
    const Result result = run("TestSource -> EtherMirror -> Classifier(-) -> XOR(0) -> sink :: TestSink;", GetParam(),
                              frames, {.batch_size = capacity});
    EXPECT_EQ(result.delivered, frames.size()) << capacity;
    EXPECT_TRUE(in_order(result.at("sink")));
  }
}

// Ways that part and meet at once are no ways: the packets stay together, and those that one of them drops are counted.
TEST_P(EngineTest, KeepsTheOrderWhereAllOutputsLeadToOneElement) {
  std::vector<Frame> frames;
  for (uint32_t i = 0; i < 300; ++i) frames.push_back(ip_frame(0x0a000001, (i % 5) << 24 | i, 30));
  const Result result =
      run("TestSource -> CheckIPHeader(14) -> rt :: DirectIPLookup(1.0.0.0/8 1, 2.0.0.0/8 2, 3.0.0.0/8 0,"
          " 4.0.0.0/8 1); m :: EtherMirror -> sink :: TestSink; rt -> m; rt[1] -> m; rt[2] -> m;",
          GetParam(), frames);
  EXPECT_EQ(result.drop("rt.no_route"), 60u);
  EXPECT_EQ(result.delivered, 240u);
  EXPECT_TRUE(in_order(result.at("sink")));
}

// A sum of lengths outlives an element only if that changes none.
TEST_P(EngineTest, CountsTheBytesThatArriveBehindEveryElement) {
  std::vector<Frame> frames;
  for (size_t i = 0; i < 100; ++i) {
    frames.push_back(ip_frame(0x0a000001, 0x0a000002, 20 + i));
    frames.back().bytes.resize(frames.back().bytes.size() + i % 3);  // CheckIPHeader takes padding off
  }
  for (const char* element : {"Null", "Strip(14)", "Unstrip(4)", "Truncate(60)", "CheckIPHeader(14)", "SetCRC32",
                              "SetCRC32 -> CheckCRC32", "IPFilter(deny ip len 50, allow all)"}) {
    const std::string classify = std::string(element).starts_with("IPFilter") ? "CheckIPHeader(14) -> " : "";
    const Result result =
        run("TestSource -> a :: Counter -> " + classify + element + " -> b :: Counter -> sink :: TestSink;", GetParam(),
            frames, {.scratch = 4});
    uint64_t sent = 0, arrived = 0;
    for (auto& frame : frames) sent += frame.bytes.size();
    for (auto& packet : result.at("sink")) arrived += packet.bytes.size();
    EXPECT_EQ(result.statistics.at("a.byte_count"), sent) << element;
    EXPECT_EQ(result.statistics.at("b.byte_count"), arrived) << element;
    EXPECT_GT(arrived, 0u) << element;
  }
}

TEST_P(EngineTest, StopsUnderTraffic) {
  const auto frames = short_frames(300);
  for (int threads : {1, 2}) {
    std::atomic<uint64_t> seen{0};
    Options options{.batches = {64, 1, 0, 200}, .threads = threads, .endless = true};
    options.on_packet = [&](const std::string&, const Received&) { ++seen; };
    options.meanwhile = [&](Engine& engine) {
      while (seen < 2000 && engine.running()) usleep(200);
      EXPECT_TRUE(engine.running());
    };
    const Result result =
        run("TestSource(EVERY_THREAD true) -> m :: EtherMirror -> c :: Classifier(0/00%01, -); c[0] -> XOR(1) ->"
            "a :: TestSink; c[1] -> b :: TestSink;",
            GetParam(), frames, options);
    EXPECT_GE(result.delivered, 2000u);
    EXPECT_EQ(result.delivered, seen);
  }
}

TEST_P(EngineTest, StopsBeforeItHasBegun) {
  const auto frames = short_frames(10);
  run(kMirror, GetParam(), frames, {.endless = true, .meanwhile = [](Engine& engine) { engine.stop(); }});
}

TEST_P(EngineTest, StartsAgainInOneProcess) {
  const auto frames = short_frames(100);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run(kMirror, GetParam(), frames).delivered, frames.size());
}

// Of several threads each has its own slots; the counts of neutral elements on the GPU are of all of them.
TEST_P(EngineTest, RunsOnSeveralThreads) {
  const auto frames = short_frames(300);
  const Result result = run("TestSource(EVERY_THREAD true) -> XOR(5) -> c :: Counter -> XOR(5) -> sink :: TestSink;",
                            GetParam(), frames, {.batches = {50}, .threads = 3});
  ASSERT_EQ(result.delivered, 3 * frames.size());
  EXPECT_EQ(result.statistics.at("c.count"), 3 * frames.size());
  for (auto& packet : result.at("sink")) ASSERT_EQ(packet.bytes, frames[static_cast<size_t>(packet.serial)].bytes);
}

TEST_P(EngineTest, LosesNothingOfSeveralSources) {
  const auto frames = short_frames(200);
  const Result result = run("TestSource -> m :: EtherMirror -> sink :: TestSink; TestSource -> m;", GetParam(), frames);
  EXPECT_EQ(result.delivered, 2 * frames.size());
}

TEST_P(EngineTest, MayBeWaitedForTwice) {
  const auto frames = short_frames(100);
  Options options{.endless = true};
  std::atomic<uint64_t> seen{0};
  options.on_packet = [&](const std::string&, const Received&) { ++seen; };
  options.meanwhile = [&](Engine& engine) {
    engine.stop();
    engine.wait();
    engine.wait();
    EXPECT_FALSE(engine.running());
  };
  EXPECT_EQ(run(kMirror, GetParam(), frames, options).delivered, seen);
}

TEST(Engine, RefusesWhatItCannotDo) {
  const auto start = [](const std::string& device, int threads) {
    RunOptions options;
    options.threads = threads;
    try {
      click::Diagnostics diagnostics;
      Chain chain = read("TestSource -> EtherMirror -> TestSink;", {device, LaunchMode::persistent}, diagnostics);
      Engine(std::move(chain.router), std::move(chain.plan), options).start();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(start("cpu", 0), "threads: 0 is not from 1 to 128");
  EXPECT_EQ(start("cpu", 129), "threads: 129 is not from 1 to 128");
  EXPECT_NE(start("gpu77", 1).find("device 'gpu77': "), std::string::npos);
  EXPECT_EQ(start("tpu", 1), "device 'tpu': expected cpu, gpu, gpu0, gpu1, ... or simt");
}

}  // namespace
}  // namespace heddle::test
