// Timers under load and without, and elements that give packets on their own.

#include <array>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "click/arguments.h"
#include "core/element.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

HEDDLE_ON_EVERY_BACKEND(TimerTest);

std::vector<Frame> few_frames(size_t count) {
  auto random = random_for("timer");
  return random_frames(random, count, 20, 64);
}

// Counts the calls of its timer by thread, and those between which packets came.
class TestClock : public Element {
 public:
  const char* processing() const override { return "a/a"; }
  int timer_us() const override { return 50; }
  void on_timer(int thread) override {
    Count& count = counts_[static_cast<size_t>(thread)];
    if (count.packets.exchange(false)) ++count.busy;
    ++count.calls;
  }
  void run_cpu(Batch& batch) override { counts_[static_cast<size_t>(batch.thread)].packets = true; }
  std::vector<std::pair<std::string, uint64_t>> statistics() const override {
    uint64_t calls = 0, busy = 0;
    for (auto& count : counts_) calls += count.calls, busy += count.busy;
    return {{"calls", calls}, {"busy", busy}};
  }
  int threads_called() const {
    int threads = 0;
    for (auto& count : counts_) threads += count.calls > 0;
    return threads;
  }

 private:
  struct Count {
    std::atomic<uint64_t> calls{0}, busy{0};
    std::atomic<bool> packets{false};
  };
  std::array<Count, kMaxThreads> counts_;
};
HEDDLE_ELEMENT(TestClock);

// Keeps every third packet of a thread; gives half of what it has at a time, by output 1 if it is there.
class TestKeeper : public Emitter {
 public:
  void configure(click::Arguments& arguments) override { arguments.keyword("UNTIL_THE_END", until_the_end_); }
  const char* ports() const override { return "1/1-2"; }
  int timer_us() const override { return 20; }
  void run_cpu(Batch& batch) override {
    State& state = states_[static_cast<size_t>(batch.thread)];
    for (int i = 0; i < batch.size(); ++i) {
      if (state.seen++ % 3 != 0) continue;
      state.kept.push_back(batch.packet(i));
      batch.keep(i);
      ++held_;
    }
  }
  void emit(Batch& batch, bool ending) override {
    auto& kept = states_[static_cast<size_t>(batch.thread)].kept;
    if (until_the_end_ && !ending) return;
    const size_t count = std::min((kept.size() + 1) / 2, static_cast<size_t>(batch.capacity()));
    for (size_t i = 0; i < count; ++i) {
      batch.packets()[i] = kept[i];
      batch.next()[i] = static_cast<uint16_t>(outputs - 1);
    }
    batch.resize(static_cast<int>(count));
    kept.erase(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(count));
    held_ -= count;
    emitted_ += count;
  }
  bool holds() const override { return held_ > 0; }
  std::vector<std::pair<std::string, uint64_t>> statistics() const override { return {{"emitted", emitted_}}; }

 private:
  struct State {
    uint64_t seen = 0;
    std::vector<Packet*> kept;
  };
  std::array<State, kMaxThreads> states_;
  std::atomic<uint64_t> held_{0}, emitted_{0};
  bool until_the_end_ = false;
};
HEDDLE_ELEMENT(TestKeeper);

TEST_P(TimerTest, RunsUnderLoadOnEveryThread) {
  std::atomic<uint64_t> seen{0};
  Options options{.threads = 2, .endless = true};
  options.on_packet = [&](const std::string&, const Received&) { ++seen; };
  options.meanwhile = [&](Engine& engine) {
    const auto& clock = dynamic_cast<const TestClock&>(
        *engine.router().nodes[static_cast<size_t>(engine.router().find("clock"))].element);
    wait_while([&] { return (clock.statistics()[1].second < 10 || clock.threads_called() < 2) && engine.running(); });
  };
  const Result result = run("TestSource(EVERY_THREAD true) -> clock :: TestClock -> EtherMirror -> TestSink;",
                            GetParam(), few_frames(200), options);
  EXPECT_GE(result.statistics.at("clock.busy"), 10u);
}

TEST_P(TimerTest, RunsWhenNothingArrives) {
  Options options{.batches = {0}, .endless = true};
  options.meanwhile = [](Engine& engine) {
    const Element& clock = *engine.router().nodes[static_cast<size_t>(engine.router().find("clock"))].element;
    wait_while([&] { return clock.statistics()[0].second < 10 && engine.running(); });
  };
  run("TestSource -> clock :: TestClock -> EtherMirror -> TestSink;", GetParam(), few_frames(1), options);
}

TEST_P(TimerTest, KeptPacketsComeBack) {
  const auto frames = few_frames(2000);
  for (const char* chain :
       {"TestSource -> k :: TestKeeper -> XOR(1) -> sink :: TestSink;",
        "TestSource -> k :: TestKeeper(UNTIL_THE_END true) -> XOR(1) -> sink :: TestSink;",
        "TestSource -> XOR(1) -> k :: TestKeeper -> j :: Counter -> sink :: TestSink; k[1] -> XOR(2) -> j;",
        "TestSource(EVERY_THREAD true) -> k :: TestKeeper -> EtherMirror -> sink :: TestSink; k[1] -> TestSink;"}) {
    const bool two = std::string(chain).find("EVERY_THREAD") != std::string::npos;
    const Result result = run(chain, GetParam(), frames, {.batches = {100, 7}, .threads = two ? 2 : 1});
    EXPECT_EQ(result.delivered, frames.size() * (two ? 2 : 1)) << chain;
    EXPECT_EQ(result.statistics.at("k.emitted"), (frames.size() + 2) / 3 * (two ? 2 : 1)) << chain;
  }
}

// Those that pass keep their order though others come late.
TEST_P(TimerTest, PacketsThatPassStayInOrder) {
  const auto frames = few_frames(1500);
  const Result result =
      run("TestSource -> XOR(1) -> h :: HashSwitch(0, 1); j :: Null -> sink :: TestSink; h[0] -> k :: TestKeeper -> x "
          ":: Null"
          "-> g :: HashSwitch(1, 1); g[0] -> XOR(1) -> j; g[1] -> j; h[1] -> XOR(2) -> j; k[1] -> late :: TestSink;",
          GetParam(), frames, {.batches = {64, 5}, .slots = 2});
  EXPECT_EQ(result.delivered, frames.size());
  EXPECT_TRUE(in_order(result.at("sink")));
  EXPECT_TRUE(in_order(result.at("late")));
}

// With the late ones on the same way, numbers must still rise for the join behind.
TEST_P(TimerTest, LatePacketsJoinTheOthers) {
  const auto frames = few_frames(1500);
  const Result result =
      run("TestSource -> XOR(1) -> k :: TestKeeper -> g :: HashSwitch(1, 1); j :: Null -> sink :: TestSink;"
          "g[0] -> XOR(1) -> j; g[1] -> j;",
          GetParam(), frames, {.batches = {64, 5}, .slots = 2});
  ASSERT_EQ(result.delivered, frames.size());
  std::vector<Received> passed, late;
  for (auto& packet : result.at("sink")) (packet.serial % 3 == 0 ? late : passed).push_back(packet);
  EXPECT_TRUE(in_order(passed));
  EXPECT_TRUE(in_order(late));
}

TEST_P(TimerTest, StopGivesKeptPacketsBack) {
  std::atomic<uint64_t> seen{0};
  Options options{.endless = true};
  options.on_packet = [&](const std::string&, const Received&) { ++seen; };
  options.meanwhile = [&](Engine& engine) { wait_while([&] { return seen < 500 && engine.running(); }); };
  run("TestSource -> XOR(1) -> TestKeeper(UNTIL_THE_END true) -> EtherMirror -> TestSink;", GetParam(), few_frames(300),
      options);
}

}  // namespace
}  // namespace heddle::test
