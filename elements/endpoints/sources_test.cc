// InfiniteSource, RatedSource and FastUDPFlows.

#include <chrono>
#include <set>
#include <thread>

#include "core/load.h"
#include "elements/endpoints/checksums.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

/** Runs a chain of which the harness' own source is no part. */
Result run_alone(const std::string& chain, Options options = {}) {
  return run(chain + " TestSource -> Discard;", backends()[0], {}, std::move(options));
}

std::string text_of(const Received& packet) {
  return {reinterpret_cast<const char*>(packet.bytes.data()), packet.bytes.size()};
}

TEST(InfiniteSource, RepeatsItsData) {
  for (const auto& [length, wanted] : {std::pair{-1, "abc"}, {2, "ab"}, {8, "abcabcab"}, {0, ""}}) {
    const auto result =
        run_alone(format("InfiniteSource(DATA abc, LIMIT 100, BURST 7, LENGTH %d) -> sink :: TestSink;", length));
    ASSERT_EQ(result.at("sink").size(), 100u);
    for (auto& packet : result.at("sink")) EXPECT_EQ(text_of(packet), wanted);
  }
  EXPECT_EQ(run_alone("InfiniteSource(LIMIT 1) -> sink :: TestSink;").at("sink")[0].bytes.size(), 69u);
  EXPECT_EQ(run_alone("InfiniteSource(\\<00ff>, 1) -> sink :: TestSink;").at("sink")[0].bytes, (Bytes{0, 255}));
}

TEST(InfiniteSource, StampsPackets) {
  EXPECT_GT(run_alone("InfiniteSource(LIMIT 1) -> sink :: TestSink;").at("sink")[0].timestamp_ns,
            1'600'000'000'000'000'000u);
  EXPECT_EQ(run_alone("InfiniteSource(LIMIT 1, TIMESTAMP false) -> sink :: TestSink;").at("sink")[0].timestamp_ns, 0u);
}

TEST(InfiniteSource, MakesLargePacketsAndWaitsForBuffers) {
  const auto result =
      run_alone("InfiniteSource(LENGTH 9000, LIMIT 2000, BURST 100) -> Queue(100) -> Unqueue -> sink :: TestSink;");
  EXPECT_EQ(result.at("sink").size() + result.drop("Queue@2.full"), 2000u);
  EXPECT_EQ(result.at("sink")[0].bytes.size(), 9000u);
}

TEST(InfiniteSource, HandlersChangeItWhilePacketsFlow) {
  run_alone(
      "i :: InfiniteSource(DATA old, LIMIT 10, BURST 3) -> c :: Counter -> Discard;"
      "InfiniteSource -> others :: Counter -> Discard;",
      {.endless = true, .meanwhile = [](Engine& engine) {
         Broker& control = engine.handlers();
         const auto settle = [&](uint64_t least) {
           wait_while([&] { return std::stoull(control.read("i.count")) < least; });
           wait_for_more(control, "others.count");  // no more come while others go on
         };
         settle(10);
         EXPECT_EQ(control.read("i.count"), "10");
         EXPECT_EQ(control.read("i.data"), "old");
         control.write("i.limit", "25");
         settle(25);
         EXPECT_EQ(control.read("i.count"), "25");
         control.write("i.data", "newer");
         EXPECT_EQ(control.read("i.data"), "newer");
         control.write("i.active", "false");
         settle(25);  // what it had begun before has come
         control.write("i.reset", "");
         settle(0);
         EXPECT_EQ(control.read("i.count"), "0");
         control.write("i.limit", "-1");
         control.write("i.length", "1400");
         control.write("i.burst", "64");
         control.write("i.active", "true");
         for (int n = 0; n < 50; ++n) control.write("i.data", format("content %d", n));
         settle(1);
         EXPECT_THROW(control.write("i.burst", "0"), Error);
         EXPECT_THROW(control.write("i.length", "70000"), Error);
         EXPECT_EQ(control.read("i.burst"), "64");
       }});
}

TEST(InfiniteSource, EndCallWritesAHandlerAtTheEnd) {
  const auto result = run_alone("i :: InfiniteSource(LIMIT 5, END_CALL i.limit 12) -> sink :: TestSink;");
  EXPECT_EQ(result.at("sink").size(), 12u);
}

TEST(RatedSource, KeepsItsRate) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto result = run_alone("RatedSource(DATA x, RATE 1000, LIMIT 301) -> sink :: TestSink;");
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  ASSERT_EQ(result.at("sink").size(), 301u);
  EXPECT_GE(seconds, 0.29);
  const auto& packets = result.at("sink");
  EXPECT_GE(packets.back().timestamp_ns - packets.front().timestamp_ns, 280'000'000u);
}

TEST(RatedSource, TakesABandwidth) {
  run_alone(
      "r :: RatedSource(LENGTH 125, BANDWIDTH 1Mbps, ACTIVE false) -> Discard;"
      "s :: RatedSource(LENGTH 100, BANDWIDTH 20 kBps, ACTIVE false) -> Discard;"
      "t :: RatedSource(ACTIVE false) -> Discard; u :: RatedSource(BANDWIDTH 0) -> Discard;",
      {.endless = true, .meanwhile = [](Engine& engine) {
         EXPECT_EQ(engine.handlers().read("r.rate"), "1000");
         EXPECT_EQ(engine.handlers().read("s.rate"), "200");
         EXPECT_EQ(engine.handlers().read("t.rate"), "10");
         EXPECT_EQ(engine.handlers().read("u.rate"), "0");
         engine.handlers().write("t.rate", "2.5");
         EXPECT_EQ(engine.handlers().read("t.rate").substr(0, 3), "2.5");
       }});
  EXPECT_NE(mistakes("RatedSource(BANDWIDTH fast) -> Discard;").find("'fast' is not a bandwidth"), std::string::npos);
}

constexpr const char* kFlows =
    "FastUDPFlows(RATE 0, LIMIT 1000, LENGTH %d, SRCETH 02:00:00:00:00:01, SRCIP 10.0.0.1, DSTETH 2-0-0-0-0-2, DSTIP "
    "10.1.0.1, FLOWS %d, FLOWSIZE %d, SEQUENTIAL %s) -> CheckIPHeader(14) -> sink :: TestSink;";

TEST(FastUDPFlows, MakesValidPacketsOfItsFlows) {
  for (int length : {60, 61, 1514, 9000}) {
    const auto result = run_alone(format(kFlows, length, 4, -1, "true"));
    ASSERT_EQ(result.at("sink").size(), 1000u);
    std::set<uint32_t> ports;
    for (size_t i = 0; i < 1000; ++i) {
      const Bytes& frame = result.at("sink")[i].bytes;
      ASSERT_EQ(frame.size(), static_cast<size_t>(length));
      const auto* ip = frame.data() + 14;
      EXPECT_EQ(Bytes(frame.begin(), frame.begin() + 14), (Bytes{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0}));
      // With its own checksum in it, a segment sums to nothing.
      EXPECT_EQ(checksum_of(
                    checksum_add(uint64_t{17} + frame.size() - 34, ip + 12, static_cast<uint32_t>(frame.size()) - 26)),
                0u);
      ports.insert(load_u32(ip + 20));
      if (i >= 4) {
        EXPECT_EQ(load_u32(ip + 20), load_u32(result.at("sink")[i - 4].bytes.data() + 34));  // in turn
      }
    }
    EXPECT_EQ(ports.size(), 4u);
  }
}

TEST(FastUDPFlows, RenewsFlowsThatAreOver) {
  std::map<uint32_t, int> packets;
  const auto result = run_alone(format(kFlows, 60, 3, 10, "false"));
  for (auto& packet : result.at("sink")) ++packets[load_u32(packet.bytes.data() + 34)];
  EXPECT_GE(packets.size(), 100u);
  for (auto& [ports, count] : packets) EXPECT_LE(count, 20) << ports;  // ports at random may meet once
}

TEST(FastUDPFlows, KeepsARateAfterItHadNone) {
  run_alone(
      "f :: FastUDPFlows(0, -1, 60, 2:0:0:0:0:1, 10.0.0.1, 2:0:0:0:0:2, 10.1.0.1, 4, -1) -> c :: Counter -> Discard;",
      {.endless = true, .meanwhile = [](Engine& engine) {
         Control& control = engine.handlers();
         const auto count = [&] { return std::stoull(control.read("c.count")); };
         wait_while([&] { return count() < 10'000 && engine.running(); });
         control.write("f.rate", "1000");
         const auto before = count();
         wait_while([&] { return count() < before + 20 && engine.running(); });
         control.write("f.rate", "0");
         wait_while([&] { return count() < before + 100'000 && engine.running(); });
       }});
}

}  // namespace
}  // namespace heddle::test
