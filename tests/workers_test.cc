// One thread drives the GPU for the others (--workers): what comes out, in which order, on which thread, and what
// becomes of what finds no room. HEDDLE_WORKERS=1 runs all other tests like this.

#include <thread>

#include "tests/support/harness.h"

namespace heddle::test {
namespace {

/** All ways with a master. */
std::vector<Backend> driven_ways(bool by_load = false) {
  std::vector<Backend> list = all_ways();
  for (Backend& backend : list) backend.by_load = by_load, backend.workers = true;
  return list;
}

class Workers : public OnBackend {};
INSTANTIATE_TEST_SUITE_P(All, Workers, testing::ValuesIn(driven_ways()), backend_name);

std::vector<Frame> some_frames(size_t count) {
  auto random = random_for("workers");
  std::vector<Frame> frames;
  for (size_t i = 0; i < count; ++i) frames.push_back(ip_frame(random(), ip(10, 0, 0, random() % 6), random() % 1400));
  return frames;
}

std::vector<Bytes> complements(const std::vector<Frame>& frames) {
  std::vector<Bytes> list;
  for (auto& frame : frames) {
    list.emplace_back();
    for (const uint8_t byte : frame.bytes) list.back().push_back(static_cast<uint8_t>(255 - byte));
  }
  return list;
}

// Two threads with a source each; CPUSwitch tells on which one packets are behind the GPU. Paint is the user's.
void expect_each_worker_gets_its_own(const std::string& functions, const Backend& backend,
                                     const std::vector<Frame>& frames, const std::vector<Bytes>& wanted) {
  const Result result = run(
      "a :: TestSource -> Paint(7) -> g :: Null; b :: TestSource -> Paint(9) -> g; StaticThreadSched(a 0, b 1);"
      "g -> " +
          functions + " -> c :: CPUSwitch; c[0] -> s0 :: TestSink(READS paint); c[1] -> s1 :: TestSink(READS paint);",
      backend, frames, {.batches = {40, 1, 300, 0, 33}, .threads = 2});
  EXPECT_EQ(result.dropped, 0u);
  for (const char* sink : {"s0", "s1"}) {
    SCOPED_TRACE(sink);
    EXPECT_TRUE(same(result.bytes(sink), wanted));
    EXPECT_TRUE(in_order(result.at(sink)));
    for (auto& packet : result.at(sink))
      ASSERT_EQ(packet.column[static_cast<int>(Column::paint)], sink[1] == '0' ? 7u : 9u);
  }
}

TEST_P(Workers, EachGetsItsOwnBack) {
  const auto frames = some_frames(700);
  expect_each_worker_gets_its_own("XOR(255)", GetParam(), frames, complements(frames));
}

TEST_P(Workers, BySeveralSegmentsAndJoins) {
  const auto frames = some_frames(500);
  expect_each_worker_gets_its_own("XOR(90) -> XOR(165, DEVICE cpu) -> XOR(1) -> XOR(1)", GetParam(), frames,
                                  complements(frames));
  // By two segments, one or none, and together again.
  const std::string parts =
      "h :: HashSwitch(33, 1); h[0] -> XOR(255) -> j :: Null; h[1] -> XOR(1) -> XOR(1, DEVICE cpu) -> XOR(255) -> j;"
      "h[2] -> XOR(255, DEVICE cpu) -> j; j";
  expect_each_worker_gets_its_own(parts, GetParam(), frames, complements(frames));
}

// Every exit of a segment is on the worker's thread, and drops are counted.
TEST_P(Workers, BySeveralExits) {
  const auto frames = some_frames(900);
  const Result result = run(
      "TestSource(EVERY_THREAD true) -> GetIPAddress(30) -> rt :: DirectIPLookup(10.0.0.0 0, 10.0.0.1 1, 10.0.0.2 0, "
      "10.0.0.4 1); rt[0] -> EtherMirror -> s0 :: TestSink(READS dst); rt[1] -> s1 :: TestSink(READS dst);",
      GetParam(), frames, {.batches = {64, 5, 200}, .threads = 3});
  std::map<unsigned, uint64_t> to;  // frames by last byte of the address
  for (auto& frame : frames) ++to[frame.bytes[33]];
  EXPECT_EQ(result.at("s0").size(), 3 * (to[0] + to[2]));
  EXPECT_EQ(result.at("s1").size(), 3 * (to[1] + to[4]));
  EXPECT_EQ(result.drop("rt.no_route"), 3 * (to[3] + to[5]));
  for (auto& [name, packets] : result.sinks)
    for (auto& packet : packets) {
      Bytes wanted = frames[static_cast<size_t>(packet.serial)].bytes;
      if (name == "s0") std::rotate(wanted.begin(), wanted.begin() + 6, wanted.begin() + 12);
      ASSERT_EQ(packet.bytes, wanted);
      ASSERT_EQ(packet.column[static_cast<int>(Column::dst)], __builtin_bswap32(get_u32(wanted, 30)));
    }
}

TEST_P(Workers, WithPacketsThatGrowAndShrink) {
  const auto frames = some_frames(400);
  const std::string chain = "TestSource -> Strip(14) -> SetCRC32 -> XOR(3) -> Unstrip(14) -> sink :: TestSink;";
  const Options options{.batches = {50}, .scratch = 4};
  const Result wanted = run(chain, backends()[0], frames, options), got = run(chain, GetParam(), frames, options);
  EXPECT_TRUE(same(got.bytes(), wanted.bytes()));
  EXPECT_EQ(got.bytes().size(), frames.size());
}

class WorkersByLoad : public OnBackend {};
INSTANTIATE_TEST_SUITE_P(All, WorkersByLoad, testing::ValuesIn(driven_ways(true)), backend_name);

TEST_P(WorkersByLoad, EachGetsItsOwnBack) {
  const auto frames = some_frames(600);
  expect_each_worker_gets_its_own("XOR(90) -> Null -> XOR(165)", GetParam(), frames, complements(frames));
}

Backend with_master(LaunchMode launch = LaunchMode::persistent) {
  Backend backend{"simt_workers", "simt", launch};
  backend.workers = true;
  return backend;
}

// Packets that find no room on the way to the master, or that are more than a batch may have, are dropped by name.
TEST(WorkersRoom, WhatDoesNotBlockIsCounted) {
  const auto frames = some_frames(10000);
  for (const auto launch : {LaunchMode::persistent, LaunchMode::sync}) {
    const Result result =
        run("TestSource(EVERY_THREAD true) -> x :: XOR(255, BLOCKING false) -> c :: CPUSwitch; c[0] -> s0 :: TestSink; "
            "c[1] -> s1 :: TestSink;",
            with_master(launch), frames, {.batch_size = 32, .slots = 1, .threads = 2});
    EXPECT_GT(result.drop("x.no_slot"), 0u);
    EXPECT_EQ(result.delivered + result.drop("x.no_slot"), 2 * frames.size());
    for (const char* sink : {"s0", "s1"}) EXPECT_TRUE(in_order(result.at(sink)));
  }
  const Result result = run("TestSource -> x :: XOR(255, MAX_BATCH 40) -> sink :: TestSink;",
                            with_master(LaunchMode::async), frames, {.batches = {64}});
  EXPECT_GT(result.drop("x.max_batch"), 0u);
  EXPECT_EQ(result.delivered + result.drop("x.max_batch"), frames.size());
  EXPECT_TRUE(in_order(result.at("sink")));
}

TEST(WorkersRoom, WhatBlocksIsNotLost) {
  const auto frames = some_frames(4000);
  const Result result =
      run("TestSource(EVERY_THREAD true) -> x :: XOR(255) -> c :: CPUSwitch; c[0] -> s0 :: TestSink; "
          "c[1] -> s1 :: TestSink;",
          with_master(), frames, {.batch_size = 32, .slots = 1, .threads = 2});
  EXPECT_EQ(result.delivered, 2 * frames.size());
  for (const char* sink : {"s0", "s1"}) EXPECT_TRUE(in_order(result.at(sink)));
}

TEST(WorkersPlan, SaysWhoDrivesWhat) {
  const auto text = [](const std::string& chain, const Backend& backend) {
    click::Diagnostics diagnostics;
    const Chain read_chain = read(chain, backend.plan(), diagnostics);
    return diagnostics.ok() ? read_chain.plan.text(read_chain.router) : diagnostics.text();
  };
  const std::string chain = "InfiniteSource -> XOR(1) -> XOR(2, DEVICE cpu) -> EtherMirror -> Discard;";
  std::string plan = text(chain, with_master());
  EXPECT_NE(plan.find("driven by   the last packet thread (--workers)"), std::string::npos) << plan;
  EXPECT_EQ(plan.find("nothing to drive"), std::string::npos) << plan;
  Backend without = with_master();
  without.workers = false;
  EXPECT_EQ(text(chain, without).find("driven by"), std::string::npos);
  Backend cpu = backends()[0];
  cpu.workers = true;
  EXPECT_NE(text(chain, cpu).find("the last one (--workers) has nothing to drive"), std::string::npos);
}

std::string error_of(const std::string& chain, const Backend& backend, int threads) {
  click::Diagnostics diagnostics;
  Chain made = read(chain, backend.plan(), diagnostics);
  if (!diagnostics.ok()) return diagnostics.text();
  RunOptions options;
  options.threads = threads;
  try {
    Engine engine(std::move(made.router), std::move(made.plan), options);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(WorkersErrors, NameTheRemedy) {
  const std::string chain = "s :: InfiniteSource -> XOR(1) -> Discard;";
  EXPECT_EQ(error_of(chain, with_master(), 1),
            "--workers: one packet thread drives the GPU for the others, and there are no others; give -j 2 or more");
  EXPECT_EQ(error_of(chain, with_master(), 2), "");
  EXPECT_EQ(error_of(chain + "StaticThreadSched(s 1);", with_master(), 2),
            "'s' is to run on thread 1, which with --workers drives the GPU and runs no element; give -j 3, or another "
            "thread");
  EXPECT_EQ(error_of(chain + "StaticThreadSched(s 1);", with_master(), 3), "");
}

// A chain without a GPU segment leaves the master nothing to do; the others share its sources as ever.
TEST(WorkersErrors, AChainOnTheCpuRunsAsWell) {
  Backend cpu = backends()[0];
  cpu.workers = true;
  const auto frames = some_frames(300);
  const Result result = run("TestSource(EVERY_THREAD true) -> XOR(255) -> TestSink;", cpu, frames, {.threads = 2});
  EXPECT_EQ(result.delivered, 2 * frames.size());
}

// The master goes with its configuration, and comes with the next one; nothing is lost on the way.
TEST(WorkersReconfigured, LosesAndReordersNothing) {
  const auto frames = some_frames(2000);
  for (const auto launch : {LaunchMode::persistent, LaunchMode::async}) {
    const Backend backend = with_master(launch);
    const std::string one = "s :: TestSource -> c :: Counter -> x :: XOR(255) -> sink :: TestSink;",
                      other =
                          "s :: TestSource -> c :: Counter -> x :: XOR(90) -> XOR(165, DEVICE cpu) -> m :: "
                          "EtherMirror -> EtherMirror -> sink :: TestSink;",
                      on_cpu = "s :: TestSource -> c :: Counter -> x :: XOR(255, DEVICE cpu) -> sink :: TestSink;";
    std::atomic<uint64_t> wrong{0}, seen{0};
    int64_t last = -1;
    Options options{.batches = {64, 7, 0}, .endless = true};
    const auto wanted = complements(frames);
    options.on_packet = [&](const std::string&, const Received& packet) {
      if (packet.bytes != wanted[static_cast<size_t>(packet.serial)]) ++wrong;
      if (packet.serial != (last + 1) % static_cast<int64_t>(frames.size())) ++wrong;
      last = packet.serial;
      ++seen;
    };
    options.meanwhile = [&](Engine& engine) {
      for (const std::string& next : {other, on_cpu, one, other, one}) {
        wait_for_more(engine.handlers(), "sink.count");
        engine.reconfigure([&] {
          click::Diagnostics diagnostics;
          Chain chain = read(next, backend.plan(), diagnostics);
          if (!diagnostics.ok()) throw Error(diagnostics.text());
          return Configuration{std::move(chain.router), std::move(chain.plan)};
        });
      }
      wait_for_more(engine.handlers(), "sink.count");
      Backend without = backend;
      without.workers = false;
      try {
        engine.reconfigure([&] {
          click::Diagnostics none;
          Chain chain = read(one, without.plan(), none);
          return Configuration{std::move(chain.router), std::move(chain.plan)};
        });
        ADD_FAILURE() << "the master has gone";
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("--workers"), std::string::npos) << error.what();
      }
      wait_for_more(engine.handlers(), "sink.count");
      EXPECT_EQ(engine.reconfigurations(), 5);
    };
    const Result result = run(one, backend, frames, options);
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(result.received, result.delivered);
  }
}

// The load of all packet threads is known, the master's last.
TEST(WorkersLoad, TheMasterIsOneOfTheThreads) {
  std::atomic<uint64_t> seen{0};
  Options options{.threads = 2, .endless = true};
  options.on_packet = [&](const std::string&, const Received&) { ++seen; };
  options.meanwhile = [&](Engine& engine) {
    wait_while([&] { return engine.cycles().back().busy == 0; });
    EXPECT_EQ(engine.cycles().size(), 3u);
  };
  run("TestSource(EVERY_THREAD true) -> XOR(1) -> TestSink;", with_master(), some_frames(100), options);
  EXPECT_GT(seen, 0u);
}

}  // namespace
}  // namespace heddle::test
