// Packets that part and meet again go on in their order of arrival, whatever runs on the ways between.

#include <map>
#include <mutex>
#include <thread>

#include "tests/support/harness.h"

namespace heddle::test {
namespace {

HEDDLE_ON_EVERY_BACKEND(OrderTest);

// Frames with random bytes and dst; the timestamp tells which one it was also of a copy.
std::vector<Frame> many_frames(size_t count) {
  auto random = random_for("order");
  auto frames = random_frames(random, count, 20, 64);
  for (size_t i = 0; i < frames.size(); ++i) {
    frames[i].column[static_cast<int>(Column::dst)] = random();
    frames[i].timestamp_ns = i;
  }
  return frames;
}

// Of a flow: every fifth packet has the SYN flag.
std::vector<Frame> tcp_frames(size_t count) {
  std::vector<Frame> frames;
  for (size_t i = 0; i < count; ++i) {
    Frame frame = ip_frame(ip(10, 0, 0, 1), ip(10, 0, 0, 2), 20);
    frame.bytes[23] = 6;
    frame.bytes[46] = 0x50, frame.bytes[47] = i % 5 == 0 ? 0x02 : 0x10;
    set_ip_checksum(frame.bytes, 14);
    frames.push_back(frame);
  }
  return frames;
}

TEST_P(OrderTest, AFlowsFirstPacketsTakeAnotherWay) {
  const auto frames = tcp_frames(500);
  for (const char* ways :
       {"c -> n; c[1] -> n", "c -> Counter -> n; c[1] -> n", "c -> n; c[1] -> XOR(1) -> XOR(1) -> n",
        "c -> EtherMirror -> XOR(7) -> n; c[1] -> XOR(1) -> n", "c -> XOR(1) -> n; c[1] -> XOR(1, DEVICE cpu) -> n"}) {
    const Result result =
        run(format("TestSource -> CheckIPHeader(14) -> c :: IPClassifier(syn, -); n :: Null -> sink :: TestSink; %s;",
                   ways),
            GetParam(), frames, {.batches = {200, 1, 33}});
    EXPECT_EQ(result.delivered, frames.size()) << ways;
    EXPECT_TRUE(in_order(result.at("sink"))) << ways;
  }
}

TEST_P(OrderTest, DropsOnTheWaysGiveTheirPlaceUp) {
  const auto frames = many_frames(900);
  const Result result =
      run("TestSource(SETS dst) -> h :: HashSwitch(0, 1); j :: XOR(1) -> sink :: TestSink; h[2] -> j;"
          "h[0] -> a :: DirectIPLookup(0.0.0.0/1 0) -> j; h[1] -> XOR(1, DEVICE cpu) -> b :: Classifier(0/00%01) -> j;",
          GetParam(), frames, {.batches = {1, 100, 7}, .slots = 1});
  EXPECT_GT(result.drop("a.no_route"), 0u);
  EXPECT_GT(result.drop("b.no_match"), 0u);
  EXPECT_TRUE(in_order(result.at("sink")));
}

// A way may end elsewhere, and nobody waits for what went there.
TEST_P(OrderTest, SomePacketsDoNotComeToTheJoin) {
  const auto frames = many_frames(600);
  const Result result =
      run("TestSource -> h :: HashSwitch(0, 1); j :: Null -> sink :: TestSink; h[0] -> XOR(1) -> k :: HashSwitch(1, 1);"
          "k[0] -> j; k[1] -> other :: TestSink; h[1] -> j; h[2] -> third :: TestSink;",
          GetParam(), frames, {.batches = {90}, .slots = 2});
  EXPECT_EQ(result.delivered, frames.size());
  for (auto& [name, packets] : result.sinks) EXPECT_TRUE(in_order(packets)) << name;
}

TEST_P(OrderTest, JoinsWithinJoins) {
  const auto frames = many_frames(800);
  const Result result =
      run("TestSource -> a :: HashSwitch(0, 1); b :: HashSwitch(1, 1); inner :: Counter; outer :: XOR(3) -> sink :: "
          "TestSink;"
          "a[0] -> XOR(1) -> b; b[0] -> XOR(1) -> inner; b[1] -> XOR(1, DEVICE cpu) -> inner; b[2] -> inner;"
          "inner -> XOR(1) -> outer; a[1] -> outer; a[2] -> EtherMirror -> outer;",
          GetParam(), frames, {.batches = {128, 3}, .slots = 2});
  EXPECT_EQ(result.delivered, frames.size());
  EXPECT_TRUE(in_order(result.at("sink")));
}

// A copy has the place of its packet: both leave one behind the other, in the order of the ways.
TEST_P(OrderTest, CopiesGoTogether) {
  const auto frames = many_frames(400);
  for (const char* ways : {"t -> j; t[1] -> j", "t -> XOR(1, DEVICE cpu) -> j; t[1] -> XOR(2) -> j",
                           "t -> j; t[1] -> XOR(1) -> XOR(2) -> j"}) {
    const Result result = run(format("TestSource -> t :: Tee; j :: Null -> sink :: TestSink; %s;", ways), GetParam(),
                              frames, {.batches = {70, 1}});
    const auto& packets = result.at("sink");
    ASSERT_EQ(packets.size(), 2 * frames.size()) << ways;
    for (size_t i = 0; i < packets.size(); ++i) ASSERT_EQ(packets[i].timestamp_ns, i / 2) << ways;
  }
}

TEST_P(OrderTest, AQueueIsAJoinToo) {
  const auto frames = many_frames(700);
  const Result result =
      run("TestSource -> h :: HashSwitch(0, 1); q :: Queue(4096) -> Unqueue -> sink :: TestSink;"
          "h[0] -> XOR(1) -> q; h[1] -> q; h[2] -> XOR(1, DEVICE cpu) -> q;",
          GetParam(), frames, {.batches = {64}});
  EXPECT_EQ(result.delivered, frames.size());
  EXPECT_TRUE(in_order(result.at("sink")));
}

// Each source's packets keep their order, where the other's come between and part as well.
TEST_P(OrderTest, SeveralSources) {
  const auto frames = many_frames(500);
  const Result result =
      run("TestSource -> Paint(1) -> XOR(1) -> m :: Counter; TestSource -> Paint(2) -> m; m -> h :: HashSwitch(0, 1);"
          "j :: Null -> sink :: TestSink(READS paint); h[0] -> XOR(1) -> j; h[1] -> j;",
          GetParam(), frames, {.batches = {50, 8}, .slots = 2});
  std::map<uint32_t, std::vector<Received>> by_source;
  for (auto& packet : result.at("sink")) by_source[packet.column[static_cast<int>(Column::paint)]].push_back(packet);
  ASSERT_EQ(by_source.size(), 2u);
  for (auto& [paint, packets] : by_source) {
    EXPECT_EQ(packets.size(), frames.size());
    EXPECT_TRUE(in_order(packets)) << paint;
  }
}

TEST_P(OrderTest, EachThreadKeepsItsOwn) {
  const auto frames = many_frames(400);
  std::mutex mutex;
  std::map<std::thread::id, std::vector<Received>> by_thread;
  Options options{.batches = {40}, .slots = 6, .threads = 3};
  options.on_packet = [&](const std::string&, const Received& packet) {
    const std::lock_guard lock(mutex);
    by_thread[std::this_thread::get_id()].push_back(packet);
  };
  run("TestSource(EVERY_THREAD true) -> h :: HashSwitch(0, 1); j :: XOR(1) -> TestSink; h[0] -> XOR(1) -> j;"
      "h[1] -> XOR(1, DEVICE cpu) -> j; h[2] -> j;",
      GetParam(), frames, options);
  ASSERT_EQ(by_thread.size(), 3u);
  for (auto& entry : by_thread) {
    EXPECT_EQ(entry.second.size(), frames.size());
    EXPECT_TRUE(in_order(entry.second));
  }
}

// What waits is counted, and while too much waits nothing is received: the pool is not emptied.
TEST_P(OrderTest, WaitingIsCountedAndBounded) {
  const auto frames = many_frames(3000);
  const Result result =
      run("TestSource -> h :: RoundRobinSwitch; h[0] -> XOR(1) -> j :: Null -> sink :: TestSink; h[1] -> j;",
          GetParam(), frames, {.batches = {8}, .batch_size = 8, .slots = 2, .packets = 8 + 64 + 8 + 64 + 8});
  EXPECT_EQ(result.delivered, frames.size());
  EXPECT_TRUE(in_order(result.at("sink")));
  // On CPUs alone all of a batch is at the join before any goes on.
  if (!GetParam().on_gpu()) {
    EXPECT_EQ(result.statistics.count("j.waited_for_order"), 0u);
  }
}

// A chain of `length` elements; each leads to one or more behind it, the last ones to sinks.
std::string random_chain(std::mt19937& random, int length) {
  const auto device = [&] { return random() % 2 == 0 ? ", DEVICE cpu" : ""; };
  std::string chain = "TestSource(SETS dst) -> e0";
  std::vector<bool> fed(static_cast<size_t>(length) + 1, false);
  std::string elements, edges;
  for (int i = 0; i < length; ++i) {
    int outputs = 1;
    std::string text;
    switch (random() % 9) {
      case 0:
      case 1:
      case 2:
        text = format("XOR(%u%s)", static_cast<unsigned>(random() % 256), device());
        break;
      case 3:
        text = random() % 2 == 0 ? "EtherMirror" : "EtherMirror(DEVICE cpu)";
        break;
      case 4:
        text = "Counter";
        break;
      case 5:
        text = format("Classifier(%u/00%%0%u)", static_cast<unsigned>(random() % 12), 1u << random() % 4);
        break;
      case 6: {
        outputs = 2 + static_cast<int>(random() % 2);
        for (unsigned net = 0; net < 8; ++net)
          if (net < static_cast<unsigned>(outputs) || random() % 8 != 0)
            text += format("%s%u.0.0.0/3 %u", text.empty() ? "" : ", ", net * 32,
                           net < static_cast<unsigned>(outputs)
                               ? net
                               : static_cast<unsigned>(random()) % static_cast<unsigned>(outputs));
        text = "DirectIPLookup(" + text + device() + ")";
        break;
      }
      default:
        outputs = 2 + static_cast<int>(random() % 2);
        text = format("HashSwitch(%u, 1)", static_cast<unsigned>(random() % 12));
    }
    elements += format("e%d :: %s; ", i, text.c_str());
    for (int port = 0; port < outputs; ++port) {
      int to = i + 1 + static_cast<int>(random() % 4);
      if (port == 0 && !fed[static_cast<size_t>(i) + 1]) to = i + 1;
      if (to < length) {
        fed[static_cast<size_t>(to)] = true;
        edges += format("e%d[%d] -> e%d; ", i, port, to);
      } else {
        edges += format("e%d[%d] -> s%d; ", i, port, to == length ? 0 : 1);
        if (to == length) fed.back() = true;
      }
    }
  }
  const bool second = edges.find("-> s1;") != std::string::npos;
  return elements + "s0 :: TestSink; " + (second ? "s1 :: TestSink; " : "") + chain + "; " + edges;
}

// The same packets in the same order as on the CPU, and there in order.
TEST_P(OrderTest, RandomChains) {
  auto random = random_for("random chains");
  const auto frames = many_frames(300);
  const int rounds = tries(25, 300);
  for (int round = 0; round < rounds; ++round) {
    const std::string chain = random_chain(random, 3 + static_cast<int>(random() % 8));
    Options options{.batches = {1 + static_cast<int>(random() % 100), 1 + static_cast<int>(random() % 5), 64}};
    options.slots = 1 + static_cast<int>(random() % 3);
    options.batch_size = random() % 3 == 0 ? 20 : 256;
    const Result here = run(chain, GetParam(), frames, options), cpu = run(chain, backends().front(), frames, options);
    ASSERT_EQ(here.sinks.size(), cpu.sinks.size()) << chain;
    for (auto& [name, packets] : cpu.sinks) {
      ASSERT_TRUE(in_order(packets)) << name << " of " << chain;
      ASSERT_TRUE(same(here.bytes(name), cpu.bytes(name))) << name << " of " << chain;
      ASSERT_TRUE(in_order(here.at(name))) << name << " of " << chain;
    }
    ASSERT_EQ(here.delivered, cpu.delivered) << chain;
  }
}

}  // namespace
}  // namespace heddle::test
