// RateLimiter on every backend, against an oracle that fills and empties buckets itself; also as the last of a chain on
// a GPU.

#include <map>
#include <set>

#include "functions/flow/flow.h"
#include "functions/flow/oracle_for_test.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

HEDDLE_ON_EVERY_FIXED_BACKEND(RateLimiterTest);

/** Of UDP, with headers at 14 and 34 and right checksums; `key` makes addresses and ports. */
Frame limited_packet(unsigned key, uint64_t ms, size_t payload = 10) {
  Frame frame = ip_frame(ip(10, 0, key / 256 % 256, key % 256), ip(192, 0, 2, key % 3), 8 + payload);
  Bytes& bytes = frame.bytes;
  bytes[14 + 9] = 17;
  set_ip_checksum(bytes, 14);
  put_u16(bytes, 34, 1000 + key % 60000), put_u16(bytes, 36, 53);
  put_u16(bytes, 40, 0);
  put_u16(bytes, 40, ~transport_sum(bytes, 14, 34) & 0xffff);
  frame.column[static_cast<int>(Column::l3)] = 14;
  frame.column[static_cast<int>(Column::l4)] = 34;
  frame.timestamp_ns = ms * 1000000;
  return frame;
}

/** Tokens by flow, in thousandths. */
class Buckets {
 public:
  Buckets(uint64_t rate, uint64_t burst) : rate_(rate), most_(1000 * burst) {}
  bool passes(unsigned flow, uint64_t ms) {
    auto [at, is_new] = flows_.try_emplace(flow, Flow{ms, most_});
    Flow& known = at->second;
    if (ms > known.ms) known = {ms, std::min(most_, known.tokens + (ms - known.ms) * rate_)};
    if (known.tokens < 1000) return false;
    known.tokens -= 1000;
    return true;
  }

 private:
  struct Flow {
    uint64_t ms, tokens;
  };
  uint64_t rate_, most_;
  std::map<unsigned, Flow> flows_;
};

constexpr int kPool = 512;  ///< packets that there are at a time

/** Packets of flows that take turns. In a phase half are of one flow and the others of a few, in any order and all at
 *  the same time; before a flow comes again, in the phase after the next one, its packets are back, for there are only
 *  kPool. So how many of a flow pass in a phase is the same in whatever order tiles take tokens. */
struct Phases {
  static constexpr unsigned kPackets = 600;
  static_assert(kPackets > kPool);
  std::vector<Frame> frames;
  std::vector<unsigned> flows, phases;  // by frame
  std::vector<uint64_t> ms;             // by phase

  Phases(std::mt19937& random, unsigned count, uint64_t start, uint64_t longest_pause) {
    for (unsigned phase = 0; phase < count; ++phase) {
      ms.push_back(start += random() % (longest_pause + 1));
      for (unsigned k = 0; k < kPackets; ++k) {
        const unsigned which = random() % 2 == 0 ? 0 : static_cast<unsigned>(1 + random() % 40);
        phases.push_back(phase);
        flows.push_back(phase % 2 * 100 + which);
        frames.push_back(limited_packet(flows.back(), start));
      }
    }
  }

  using Counts = std::map<std::pair<unsigned, unsigned>, unsigned>;  // by phase and flow
  Counts wanted(uint64_t rate, uint64_t burst) const {
    Buckets buckets(rate, burst);
    Counts counts;
    for (size_t i = 0; i < frames.size(); ++i)
      if (buckets.passes(flows[i], ms[phases[i]])) ++counts[{phases[i], flows[i]}];
    return counts;
  }
  Counts passed(const std::vector<Received>& packets) const {
    Counts counts;
    for (const Received& packet : packets) {
      const auto i = static_cast<size_t>(packet.serial);
      ++counts[{phases[i], flows[i]}];
    }
    return counts;
  }
};

uint64_t sum(const Phases::Counts& counts) {
  uint64_t total = 0;
  for (const auto& [group, packets] : counts) total += packets;
  return total;
}

const std::string kTable = "flows :: FlowTable(TIMESTAMPS true, TIMEOUT 30min, CAPACITY 4096)";

TEST_P(RateLimiterTest, LetsAsManyPassAsTheOracle) {
  constexpr uint64_t kWrap = uint64_t{1} << 32;  // of the flows' clock
  struct Case {
    unsigned rate, burst;
    uint64_t start, longest_pause;
  };
  constexpr Case kCases[] = {{100, 7, 1000, 300},   {1, 1, 1000, 1500},        {1, 65535, 1000, 1500},
                             {1000000, 1, 1000, 1}, {1000000, 65535, 1000, 1}, {333, 50, kWrap - 400, 200}};
  auto random = random_for("rate limiter");
  for (const auto& [rate, burst, start, longest_pause] : kCases) {
    const Phases phases(random, 8, start, longest_pause);
    const std::string limiter = format("limit :: RateLimiter(flows, %u, BURST %u)", rate, burst);
    SCOPED_TRACE(limiter);
    const Phases::Counts wanted = phases.wanted(rate, burst);
    const Result result = run("TestSource(SETS \"l3 l4\") -> " + kTable + " -> " + limiter +
                                  " -> within :: TestSink; limit[1] -> beyond :: TestSink;",
                              GetParam(), phases.frames, {.batches = {64, 1, 256, 33}, .packets = kPool});
    EXPECT_EQ(phases.passed(result.at("within")), wanted);
    EXPECT_EQ(result.at("within").size() + result.at("beyond").size(), phases.frames.size());
    EXPECT_TRUE(in_order(result.at("within")));
    EXPECT_EQ(result.processor.at("limit") != "cpu", GetParam().on_gpu());
  }
}

TEST_P(RateLimiterTest, DropsWhatHasNoOutput) {
  auto random = random_for("rate limiter drops");
  const Phases phases(random, 8, 1000, 300);
  const Phases::Counts wanted = phases.wanted(100, 7);
  const Result result = run(
      "TestSource(SETS \"l3 l4\") -> " + kTable + " -> limit :: RateLimiter(flows, 100, BURST 7) -> sink :: TestSink;",
      GetParam(), phases.frames, {.batches = {64, 1, 256, 33}, .packets = kPool});
  EXPECT_EQ(phases.passed(result.at("sink")), wanted);
  EXPECT_EQ(result.drop("limit.rate"), phases.frames.size() - sum(wanted));
}

// The longest burst of one flow, in all tiles at once, and what a millisecond brings at the highest rate.
TEST_P(RateLimiterTest, LetsTheLongestBurstPass) {
  constexpr unsigned kBurst = 65535, kBeyond = 200, kInBetween = 600, kAMillisecond = 1000;
  std::vector<Frame> frames(kBurst + kBeyond, limited_packet(1, 5000));
  frames.insert(frames.end(), kInBetween, limited_packet(2, 5000));
  frames.insert(frames.end(), kAMillisecond + kBeyond, limited_packet(1, 5001));
  uint64_t first = 0, between = 0, second = 0;
  Options options{.batches = {256, 33}, .packets = kPool};
  options.on_packet = [&](const std::string&, const Received& packet) {
    ++(packet.serial < kBurst + kBeyond ? first : packet.serial < kBurst + kBeyond + kInBetween ? between : second);
  };
  const Result result = run("TestSource(SETS \"l3 l4\") -> " + kTable +
                                " -> limit :: RateLimiter(flows, 1000000, BURST 65535) -> within :: TestSink;",
                            GetParam(), frames, options);
  EXPECT_EQ(first, kBurst);
  EXPECT_EQ(between, kInBetween);
  EXPECT_EQ(second, kAMillisecond);
  EXPECT_EQ(result.drop("limit.rate"), 2 * kBeyond);
}

// Packets of a flow that are in one tile are taken in order, whatever their times; some have overtaken others.
TEST_P(RateLimiterTest, TakesPacketsOfATileInOrder) {
  constexpr unsigned kTile = 32, kTiles = 100;
  auto random = random_for("rate limiter tiles");
  Buckets buckets(100, 4);
  std::vector<Frame> frames;
  std::vector<int64_t> within, beyond;
  uint64_t ms = 10000;
  for (unsigned tile = 0; tile < kTiles; ++tile) {
    const auto flows = static_cast<unsigned>(1 + random() % 4), pause = static_cast<unsigned>(1 + random() % 10);
    for (unsigned k = 0; k < kTile; ++k) {
      const unsigned flow = 4 * tile + static_cast<unsigned>(random() % flows);
      ms += random() % pause;
      const uint64_t came = ms - (random() % 8 == 0 ? random() % 20 : 0);
      (buckets.passes(flow, came) ? within : beyond).push_back(static_cast<int64_t>(frames.size()));
      frames.push_back(limited_packet(flow, came));
    }
  }
  const Result result = run("TestSource(SETS \"l3 l4\") -> " + kTable +
                                " -> limit :: RateLimiter(flows, 100, BURST 4) -> within :: TestSink;"
                                "limit[1] -> beyond :: TestSink;",
                            GetParam(), frames, {.batches = {kTile}, .packets = 4096});
  const auto serials = [&](const std::string& sink) {
    std::vector<int64_t> list;
    for (const Received& packet : result.at(sink)) list.push_back(packet.serial);
    return list;
  };
  EXPECT_EQ(serials("within"), within);
  EXPECT_EQ(serials("beyond"), beyond);
  EXPECT_GT(within.size(), frames.size() / 5);
  EXPECT_GT(beyond.size(), frames.size() / 5);
}

// Each flow sends seven packets at once and never again, and the next one that gets its place has a bucket of its own.
TEST_P(RateLimiterTest, KeepsFlowsApartInAPlace) {
  constexpr unsigned kFlows = 1200, kEach = 7, kBurst = 5;
  std::vector<Frame> frames;
  for (unsigned flow = 0; flow < kFlows; ++flow)
    for (unsigned k = 0; k < kEach; ++k) frames.push_back(limited_packet(flow, 1000 + 5 * flow));
  // A flow is over after half a second, that is 700 packets, and its place, one of 512, another's before its bucket
  // would be full again.
  const Result result =
      run("TestSource(SETS \"l3 l4\") -> flows :: FlowTable(TIMESTAMPS true, TIMEOUT 500ms, CAPACITY 400)"
          " -> limit :: RateLimiter(flows, 1, BURST 5) -> sink :: TestSink;",
          GetParam(), frames, {.batches = {33, 1, 64}, .packets = kPool});
  std::map<unsigned, unsigned> passed;
  for (const Received& packet : result.at("sink")) ++passed[static_cast<unsigned>(packet.serial) / kEach];
  for (unsigned flow = 0; flow < kFlows; ++flow) ASSERT_EQ(passed[flow], kBurst) << "flow " << flow;
  EXPECT_GT(result.statistics.at("flows.expired"), kFlows / 2);
}

// Any flow may stand in the column; no other memory is touched.
TEST_P(RateLimiterTest, BearsAnyPlace) {
  auto random = random_for("rate limiter any place");
  std::vector<Frame> frames;
  for (size_t i = 0; i < 1000; ++i) {
    frames.push_back(limited_packet(1, 0));
    frames.back().column[static_cast<int>(Column::flow)] = i % 2 == 0 ? random() : random() % 300;
    frames.back().column[static_cast<int>(Column::flow_ms)] = random();
  }
  const Result result =
      run("TestSource(SETS \"flow flow_ms\") -> limit :: RateLimiter(flows, 1) -> sink :: TestSink; limit[1] -> sink;"
          "Idle -> CheckIPHeader(14) -> flows :: FlowTable(CAPACITY 100) -> Discard;",
          GetParam(), frames);
  EXPECT_EQ(result.at("sink").size(), frames.size());
}

// The field's stateful chain: one segment, of one warp, and of four beside a function that wants so many.
TEST_P(RateLimiterTest, EndsTheChainOnAGpu) {
  auto random = random_for("flow chain");
  const Phases phases(random, 8, 1000, 300);
  const Phases::Counts wanted = phases.wanted(100, 7);
  for (const std::string more : {"", "BitVectorClassifier(@0/0 0/0 0 : 65535 0 : 65535 0x00/0x00 0) -> "}) {
    const std::string chain =
        "TestSource(SETS \"l3 l4\") -> " + kTable + " -> " + more +
        "count :: FlowCounter(flows) -> balance :: LoadBalancer(flows, 10.9.0.0, 10.9.0.1, 10.9.0.2)"
        " -> limit :: RateLimiter(flows, 100, BURST 7) -> within :: TestSink; limit[1] -> beyond :: TestSink;";
    SCOPED_TRACE(chain);
    click::Diagnostics diagnostics;
    const Chain read_chain = read(chain, GetParam().plan(), diagnostics);
    ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
    std::vector<size_t> functions;  // of GPU segments
    for (const Segment& segment : read_chain.plan.segments)
      if (segment.processor.is_gpu()) functions.push_back(segment.nodes.size());
    EXPECT_EQ(functions, GetParam().on_gpu() ? std::vector<size_t>{more.empty() ? 3u : 4u} : std::vector<size_t>{});

    const Result result = run(chain, GetParam(), phases.frames, {.batches = {64, 1, 256, 33}, .packets = kPool});
    EXPECT_EQ(phases.passed(result.at("within")), wanted);
    EXPECT_EQ(result.at("within").size() + result.at("beyond").size(), phases.frames.size());
    std::set<uint32_t> servers;
    for (const char* sink : {"within", "beyond"})
      for (const Received& packet : result.at(sink)) {
        const Bytes& sent = phases.frames[static_cast<size_t>(packet.serial)].bytes;
        const uint32_t server = server_of_flow(sent, 14, 34, 3);
        ASSERT_EQ(get_u32(packet.bytes, 30), ip(10, 9, 0, server));
        ASSERT_EQ(ones_sum(packet.bytes, 14, 34, 0), 0xffffu);
        ASSERT_EQ(transport_sum(packet.bytes, 14, 34), 0xffffu);
        servers.insert(server);
      }
    EXPECT_EQ(servers.size(), 3u);
    for (const char* element : {"count", "balance", "limit"})
      EXPECT_EQ(result.processor.at(element) != "cpu", GetParam().on_gpu()) << element;
  }
}

// The rule against the oracle, over pauses of hours, on a clock that goes round, with packets that are overtaken.
TEST(RateLimiter, FillsBucketsAsTheOracle) {
  auto random = random_for("bucket");
  uint64_t refused = 0;
  for (const uint32_t rate : {1u, 7u, 1000u, 999999u, 1000000u})
    for (const uint32_t burst : {1u, 2u, 1000u, 65535u}) {
      const flow::Limits limits{{}, rate, burst * flow::Bucket::kToken, 0};
      Buckets buckets(rate, burst);
      uint64_t word = 0, ms = (uint64_t{1} << 32) - 100000;
      unsigned passed = 0;
      const unsigned packets = 4000 + 2 * burst;
      for (unsigned i = 0; i < packets; ++i) {
        uint64_t came = ms;
        if (random() % (100 + burst) == 0)
          came = ms += random() % 28'000'000;  // less than eight hours
        else if (random() % 4 == 0)
          came = ms += random() % (1 + 2000 / rate);
        else if (random() % 10 == 0)
          came -= random() % 3'600'000;
        flow::Bucket bucket = flow::Bucket::of(word, static_cast<uint32_t>(came));
        const bool passes = bucket.take(limits, static_cast<uint32_t>(came));
        ASSERT_EQ(passes, buckets.passes(1, came)) << "packet " << i << " at " << rate << ", burst " << burst;
        passed += passes ? 1 : 0;
        word = bucket.word();
        ASSERT_NE(word, 0u);
        ASSERT_EQ(word >> flow::Bucket::kBits, 0u);
      }
      EXPECT_GE(passed, burst);
      refused += packets - passed;
    }
  EXPECT_GT(refused, 10000u);
}

// A flow would get another burst with each change of sides.
TEST(RateLimiter, IsNotMovedByLoad) {
  const auto mistakes_of = [](const std::string& device, const std::string& chosen) {
    PlanOptions options;
    options.set_device(device);
    click::Diagnostics diagnostics;
    read("Idle -> CheckIPHeader(14) -> flows :: FlowTable -> limit :: RateLimiter(flows, 1" + chosen + ") -> Discard;",
         options, diagnostics);
    return diagnostics.text();
  };
  for (const auto& [device, chosen] : {std::pair{"auto:simt", ""}, std::pair{"simt", ", DEVICE auto"}}) {
    const std::string text = mistakes_of(device, chosen);
    EXPECT_NE(text.find("RateLimiter 'limit': where the load decides (auto)"), std::string::npos) << text;
    EXPECT_NE(text.find("the tokens of flows"), std::string::npos) << text;
  }
  for (const char* fixed : {", DEVICE cpu", ", DEVICE gpu", ", DEVICE gpu, ON_GPU_ERROR cpu"})
    EXPECT_EQ(mistakes_of("auto:simt", fixed), "") << fixed;
}

}  // namespace
}  // namespace heddle::test
