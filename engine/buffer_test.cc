// Packets that wait in buffers: pulled, handed to other threads, on cycles. run() checks that none is lost.

#include "tests/support/harness.h"

namespace heddle::test {
namespace {

std::vector<Frame> some_frames(size_t count) {
  auto random = random_for("buffer");
  return random_frames(random, count, 20, 64);
}

TEST(Buffer, QueueKeepsOrderAndBytes) {
  const auto frames = some_frames(3000);
  const Result result = run("TestSource -> Queue(4096) -> Unqueue -> sink :: TestSink;", cpu(), frames);
  ASSERT_EQ(result.delivered, frames.size());
  EXPECT_TRUE(in_order(result.at("sink")));
  for (size_t i = 0; i < frames.size(); ++i) ASSERT_EQ(result.at("sink")[i].bytes, frames[i].bytes);
}

TEST(Buffer, AnnotationsStayWithPackets) {
  auto frames = some_frames(500);
  for (size_t i = 0; i < frames.size(); ++i)
    frames[i].column[static_cast<int>(Column::paint)] = static_cast<uint32_t>(i % 200);
  const Result result =
      run("TestSource(SETS paint) -> Queue -> Unqueue(7) -> sink :: TestSink(READS paint);", cpu(), frames);
  ASSERT_EQ(result.delivered, frames.size());
  for (size_t i = 0; i < frames.size(); ++i)
    ASSERT_EQ(result.at("sink")[i].column[static_cast<int>(Column::paint)], i % 200);
}

TEST(Buffer, PaintIsZeroUntilSomebodySetsIt) {
  const Result result = run("TestSource -> sink :: TestSink(READS paint);", cpu(), some_frames(300));
  for (auto& packet : result.at("sink")) ASSERT_EQ(packet.column[static_cast<int>(Column::paint)], 0u);
}

TEST(Buffer, FullQueueDropsAndCounts) {
  const auto frames = some_frames(1000);
  const Result result = run("TestSource -> q :: Queue(10) -> Unqueue(1) -> sink :: TestSink;", cpu(), frames);
  EXPECT_EQ(result.delivered + result.drop("q.full"), frames.size());
  EXPECT_GE(result.delivered, 10u);
  EXPECT_GT(result.drop("q.full"), 0u);
  EXPECT_EQ(result.statistics.at("q.highwater_length"), 10u);
}

TEST(Buffer, SinksPull) {
  const auto frames = some_frames(300);
  const Result result = run("TestSource -> Queue -> sink :: TestSink;", cpu(), frames);
  EXPECT_EQ(result.delivered, frames.size());
  EXPECT_TRUE(in_order(result.at("sink")));
}

TEST(Buffer, SourcesArePulled) {
  const auto frames = some_frames(300);
  const Result result = run("TestSource -> Counter -> u :: Unqueue(5) -> sink :: TestSink;", cpu(), frames);
  EXPECT_EQ(result.delivered, frames.size());
  EXPECT_TRUE(in_order(result.at("sink")));
}

TEST(Buffer, TwoPullersShareAQueue) {
  const auto frames = some_frames(900);
  const Result result =
      run("TestSource -> q :: Queue -> Unqueue(8) -> a :: TestSink; q -> Unqueue(8) -> b :: TestSink;", cpu(), frames);
  EXPECT_EQ(result.delivered, frames.size());
  EXPECT_TRUE(in_order(result.at("a")));
  EXPECT_TRUE(in_order(result.at("b")));
  EXPECT_GT(result.at("b").size(), 0u);
}

TEST(Buffer, CyclesEnd) {
  auto frames = some_frames(200);
  for (auto& frame : frames) frame.bytes[0] = 0;
  // Once around: the second time the first byte is another.
  const Result result =
      run("TestSource -> q :: Queue -> Unqueue -> c :: Classifier(0/00, -) -> XOR(1) -> q; c[1] -> sink :: TestSink;",
          cpu(), frames);
  EXPECT_EQ(result.delivered, frames.size());
  EXPECT_TRUE(in_order(result.at("sink")));
}

TEST(Buffer, OtherThreadsTakeOver) {
  const auto frames = some_frames(20000);
  const Result result =
      run("TestSource -> p :: Pipeliner(64) -> Counter -> q :: Queue(64) -> u :: Unqueue -> r :: Pipeliner -> "
          "sink :: TestSink; StaticThreadSched(p 1, u 2, r 3);",
          cpu(), frames, {.batches = {100}, .threads = 4});
  // A Pipeliner waits a tenth of a second, which may be too short on a busy machine.
  EXPECT_EQ(result.delivered + result.drop("p.full") + result.drop("q.full") + result.drop("r.full"), frames.size());
  EXPECT_TRUE(in_order(result.at("sink")));
}

TEST(Buffer, PacketsThatNobodyPullsAreReported) {
  const auto frames = some_frames(50);
  const Result result =
      run("TestSource -> q :: Queue -> u :: Unqueue(ACTIVE false) -> sink :: TestSink;", cpu(), frames);
  EXPECT_EQ(result.statistics.at("q.left"), 50u);
}

TEST(Buffer, StopEmptiesQueues) {
  const Result result =
      run("TestSource -> p :: Pipeliner -> Queue -> u :: Unqueue -> sink :: TestSink; "
          "StaticThreadSched(p 1);",
          cpu(), some_frames(300),
          {.threads = 2,
           .endless = true,
           .on_packet = [](auto&, auto&) {},
           .meanwhile = [](Engine& engine) { wait_for_more(engine.handlers(), "u.count"); }});
  EXPECT_GT(result.delivered, 0u);
}

// Packets that go round for ever: the engine stops all the same, and says where they are.
TEST(Buffer, StopEndsALoop) {
  const auto until_it_turns = [](Engine& engine) {
    wait_for_more(engine.handlers(), "u.count");
    engine.stop();
  };
  for (const int threads : {1, 2}) {
    const Result result =
        run("TestSource -> q :: Queue -> u :: Unqueue -> q; StaticThreadSched(u " + std::to_string(threads - 1) + ");",
            cpu(), some_frames(100), {.threads = threads, .meanwhile = until_it_turns});
    EXPECT_EQ(result.statistics.at("q.left"), 100u);
  }
}

TEST(Buffer, StopEndsALoopOfSeveralBuffers) {
  const Result result = run(
      "TestSource -> m :: MinBatch(32) -> p :: Pipeliner -> q :: Queue -> u :: Unqueue -> m; StaticThreadSched(p 1);",
      cpu(), some_frames(100), {.threads = 2, .meanwhile = [](Engine& engine) {
                                  wait_for_more(engine.handlers(), "u.count");
                                  engine.stop();
                                }});
  uint64_t left = 0;
  for (const char* buffer : {"m.left", "p.left", "q.left"})
    if (result.statistics.contains(buffer)) left += result.statistics.at(buffer);
  EXPECT_EQ(left, 100u);
}

int home_of(const std::string& chain, const char* element) {
  click::Diagnostics diagnostics;
  const Chain read_chain = read(chain, {}, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  const int node = read_chain.router.find(element);
  return node < 0 ? -2 : read_chain.router.nodes[static_cast<size_t>(node)].element->home;
}

TEST(Buffer, ThreadsInCompoundElements) {
  // As in Click, a name is that of the nearest element around StaticThreadSched.
  const std::string inside =
      "elementclass Pump { input -> Queue -> u :: Unqueue -> output; StaticThreadSched(u 1); } "
      "u :: Idle; TestSource -> p :: Pump -> TestSink;";
  EXPECT_EQ(home_of(inside, "p/u"), 1);
  EXPECT_EQ(home_of(inside, "u"), -1);
  const std::string around =
      "elementclass Pump { input -> output; StaticThreadSched(s 2); } "
      "s :: TestSource -> p :: Pump -> TestSink;";
  EXPECT_EQ(home_of(around, "s"), 2);
  // A compound element's name means the elements in it, of all depths, but no longer name that begins alike.
  const std::string whole =
      "elementclass Inner { input -> Queue -> u :: Unqueue -> output; } "
      "elementclass Pump { input -> m :: MinBatch -> i :: Inner -> q :: Queue -> v :: Unqueue -> output; } "
      "TestSource -> p :: Pump -> pp :: Pump -> TestSink; StaticThreadSched(p 3, p/v 1);";
  EXPECT_EQ(home_of(whole, "p/i/u"), 3);
  EXPECT_EQ(home_of(whole, "p/v"), 1);
  EXPECT_EQ(home_of(whole, "pp/v"), -1);
  EXPECT_EQ(home_of(whole, "p/m"), -1);
}

TEST(Buffer, ThreadsThatAreNotThereAreAMistake) {
  EXPECT_NE(mistakes("TestSource -> TestSink; StaticThreadSched(nobody 1);").find("there is no element 'nobody'"),
            std::string::npos);
}

}  // namespace
}  // namespace heddle::test
