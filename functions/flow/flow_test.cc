// The flow table and the elements on it, against oracles that keep flows in a std::map.

#include "functions/flow/flow.h"

#include <map>
#include <set>

#include "functions/flow/oracle_for_test.h"
#include "tests/support/access.h"
#include "tests/support/harness.h"
#include "tests/support/sanitizer.h"

namespace heddle::test {
namespace {

constexpr size_t kL4 = 34;
Frame packet_of(uint32_t source, uint32_t destination, unsigned source_port, unsigned destination_port, int protocol,
                uint64_t ms = 0, size_t payload = 10) {
  Frame frame = ip_frame(source, destination, (protocol == 6 ? 20 : 8) + payload);
  Bytes& bytes = frame.bytes;
  bytes[kL3 + 9] = static_cast<uint8_t>(protocol);
  set_ip_checksum(bytes, kL3);
  frame.column[static_cast<int>(Column::l3)] = kL3;
  frame.column[static_cast<int>(Column::l4)] = kL4;
  put_u16(bytes, kL4, source_port), put_u16(bytes, kL4 + 2, destination_port);
  const size_t checksum = kL4 + (protocol == 6 ? 16 : 6);
  put_u16(bytes, checksum, 0);
  const unsigned sum = ~transport_sum(bytes, kL3, kL4) & 0xffff;
  put_u16(bytes, checksum, sum == 0 ? 0xffff : sum);
  frame.timestamp_ns = ms * 1000000;
  return frame;
}

void expect_checksums(const Bytes& bytes) {
  EXPECT_EQ(ones_sum(bytes, kL3, kL4, 0), 0xffffu);
  EXPECT_EQ(transport_sum(bytes, kL3, kL4), 0xffffu);
}

// Flows are places in the table that has found them: in another one they would be other flows.
TEST(Flow, IsOfTheTableThatIsNamed) {
  const auto mistakes_of = [](const std::string& chain) {
    click::Diagnostics diagnostics;
    read("TestSource(SETS \"l3 l4\") -> f :: FlowTable -> " + chain, {}, diagnostics);
    return diagnostics.text();
  };
  const auto expect = [&](const std::string& chain, const std::string& element) {
    const std::string text = mistakes_of(chain);
    EXPECT_NE(text.find(element + ": the flow annotation of its packets is set by 'g', not by 'f'; give it TABLE 'g', "
                                  "or put 'f' between the two"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("annotation", text.find("annotation") + 1), std::string::npos) << text;
  };
  expect("g :: FlowTable -> c :: FlowCounter(f) -> TestSink;", "FlowCounter 'c'");
  expect("g :: FlowTable -> Queue -> Unqueue -> l :: LoadBalancer(f, 10.0.0.1) -> TestSink;", "LoadBalancer 'l'");
  expect("g :: FlowTable -> FlowCounter(g) -> r :: RateLimiter(f, 10) -> TestSink;", "RateLimiter 'r'");
  expect("g :: FlowTable -> n :: NAT(f, 192.0.2.1) -> TestSink; n[1] -> TestSink;", "NAT 'n'");
  // On one of two ways.
  expect("t :: Tee -> c :: FlowCounter(f) -> TestSink; t[1] -> g :: FlowTable -> c;", "FlowCounter 'c'");
  EXPECT_EQ(mistakes_of("FlowCounter(f) -> g :: FlowTable -> FlowCounter(g) -> TestSink; Idle -> FlowCounter(f) -> "
                        "TestSink;"),
            "");
}

TEST(Flow, LimitsAndBalancesAsTheOracle) {
  auto random = random_for("flow");
  constexpr uint64_t kTimeout = 2000, kRate = 5, kBurst = 3;
  struct Flow {
    uint64_t last = 0, thousandths = 0;
  };
  std::map<std::vector<unsigned>, Flow> flows;
  std::vector<Frame> frames;
  std::vector<std::pair<size_t, uint32_t>> wanted;  // packet, server
  uint64_t ms = 5000, added = 0, limited = 0;
  for (size_t i = 0; i < 6000; ++i) {
    ms += random() % 7 == 0 ? random() % 120 : 0;
    // Half of the packets are of three busy flows; the others' flows often pause for longer than the timeout.
    const bool busy = random() % 2 == 0;
    const std::vector<unsigned> key = {busy ? 0 : static_cast<unsigned>(random() % 6),
                                       busy ? 0 : static_cast<unsigned>(random() % 4),
                                       static_cast<unsigned>(random() % 3), busy || random() % 2 == 0 ? 6u : 17u};
    frames.push_back(
        packet_of(ip(10, 0, 0, key[0]), ip(192, 0, 2, key[1]), 1000 + key[2], 80, static_cast<int>(key[3]), ms));
    Flow& flow = flows[key];
    if (flow.last == 0 || ms - flow.last > kTimeout) flow = {ms, kBurst * 1000}, ++added;
    flow.thousandths = std::min(flow.thousandths + (ms - flow.last) * kRate, kBurst * 1000);
    flow.last = ms;
    if (flow.thousandths < 1000) {
      ++limited;
      continue;
    }
    flow.thousandths -= 1000;
    wanted.emplace_back(i, server_of_flow(frames.back().bytes, kL3, kL4, 3));
  }
  const Result result =
      run("TestSource(SETS \"l3 l4\") -> flows :: FlowTable(TIMESTAMPS true, TIMEOUT 2s, CAPACITY 4096)"
          " -> limit :: RateLimiter(flows, 5, BURST 3) -> LoadBalancer(flows, 10.9.0.0, 10.9.0.1, 10.9.0.2)"
          " -> sink :: TestSink(READS dst);",
          cpu(), frames, {.batches = {100, 1, 33, 64, 65, 1000}, .packets = 8192});
  const auto& got = result.at("sink");
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t k = 0; k < got.size(); ++k) {
    ASSERT_EQ(got[k].serial, static_cast<int64_t>(wanted[k].first));
    ASSERT_EQ(get_u32(got[k].bytes, kL3 + 16), ip(10, 9, 0, wanted[k].second));
    expect_checksums(got[k].bytes);
    Bytes before = frames[wanted[k].first].bytes;
    for (const size_t at : {kL3 + 10, kL3 + 16, kL3 + 18, kL4 + (before[kL3 + 9] == 6 ? 16u : 6u)})
      before[at] = got[k].bytes[at], before[at + 1] = got[k].bytes[at + 1];
    ASSERT_EQ(got[k].bytes, before) << "changes nothing else";
  }
  EXPECT_EQ(result.drop("limit.rate"), limited);
  EXPECT_EQ(result.statistics.at("flows.added"), added);
  EXPECT_GT(limited, 500u);
}

TEST(Flow, CountsByFlow) {
  std::vector<Frame> frames;
  std::map<unsigned, std::pair<uint64_t, uint64_t>> wanted;
  auto random = random_for("flow counter");
  for (int i = 0; i < 500; ++i) {
    const unsigned port = static_cast<unsigned>(random() % 20);
    frames.push_back(packet_of(ip(10, 0, 0, 1), ip(10, 0, 0, 2), port, 53, 17, 0, random() % 100));
    ++wanted[port].first, wanted[port].second += frames.back().bytes.size();
  }
  Options options;
  options.endless = true;
  std::atomic<uint64_t> seen{0};
  options.on_packet = [&](const std::string&, const Received&) { ++seen; };
  options.meanwhile = [&](Engine& engine) {
    wait_while([&] { return seen < frames.size() * 2; });
    const auto lookup = [&](unsigned port) {
      return engine.handlers().read("c.lookup", format("10.0.0.1 10.0.0.2 %u 53 17", port));
    };
    for (const auto& [port, counts] : wanted) {
      // The same packets come over and over.
      const std::string text = lookup(port);
      unsigned long long packets = 0, bytes = 0;
      ASSERT_EQ(std::sscanf(text.c_str(), "%llu %llu", &packets, &bytes), 2);
      EXPECT_GE(packets, counts.first);
      EXPECT_GE(bytes, counts.second);
    }
    EXPECT_EQ(lookup(20), "0 0");
    EXPECT_EQ(engine.handlers().read("flows.flows"), std::to_string(wanted.size()));
    EXPECT_THROW(engine.handlers().read("c.lookup", "10.0.0.1"), Error);
  };
  run("TestSource(SETS \"l3 l4\") -> flows :: FlowTable -> c :: FlowCounter(flows) -> sink :: TestSink;", cpu(), frames,
      options);
}

/** UDP over IPv6 from 2001:db8::N, behind so many destination options of eight bytes; `fragment`: behind a header that
 *  says so of its place. */
Frame ip6_packet_of(unsigned host, unsigned source_port, size_t options, int fragment = -1) {
  Frame frame;
  Bytes& bytes = frame.bytes;
  const size_t headers = options + (fragment >= 0 ? 1 : 0);
  bytes.resize(kL3 + 40 + headers * 8 + 8);
  bytes[kL3] = 0x60, bytes[kL3 + 6] = headers == 0 ? 17 : options > 0 ? 60 : 44;
  put_u32(bytes, kL3 + 8, 0x20010db8), put_u32(bytes, kL3 + 24, 0x20010db8);
  put_u32(bytes, kL3 + 20, host), bytes[kL3 + 39] = 99;
  for (size_t k = 0; k < options; ++k) bytes[kL3 + 40 + k * 8] = k + 1 < options ? 60 : fragment >= 0 ? 44 : 17;
  const size_t behind = kL3 + 40 + headers * 8;
  if (fragment >= 0) bytes[behind - 8] = 17, put_u16(bytes, behind - 6, static_cast<unsigned>(fragment));
  put_u16(bytes, behind, source_port), put_u16(bytes, behind + 2, 53);
  frame.column[static_cast<int>(Column::l3)] = kL3, frame.column[static_cast<int>(Column::l4)] = kL3 + 40;
  return frame;
}

TEST(Flow, CountsFlowsOfIp6) {
  auto random = random_for("flow ip6");
  std::vector<Frame> frames;
  std::map<std::pair<unsigned, unsigned>, uint64_t> wanted;  // host, port; packets
  for (int i = 0; i < 400; ++i) {
    const unsigned host = static_cast<unsigned>(random() % 5), port = 1000 + static_cast<unsigned>(random() % 5);
    const bool later = random() % 5 == 0;
    frames.push_back(ip6_packet_of(host, port, random() % 3, later ? 8 : random() % 3 == 0 ? 1 : -1));
    ++wanted[{host, later ? 0 : port}];
  }
  // IPv4 packets whose key would be that of an IPv6 flow if the version did not count.
  frames.push_back(packet_of(ip(10, 0, 0, 1), ip(10, 0, 0, 2), 1000, 53, 17));
  frames.push_back(ip6_packet_of(1, 1000, 0));
  frames.back().bytes.resize(kL3 + 40 + 3);  // no ports
  frames.push_back(ip6_packet_of(1, 1000, 0));
  frames.back().bytes.resize(kL3 + 39);
  std::atomic<uint64_t> seen{0};
  Options options;
  options.endless = true;
  options.on_packet = [&](const std::string&, const Received&) { ++seen; };
  options.meanwhile = [&](Engine& engine) {
    wait_while([&] { return seen < frames.size() * 2; });
    const auto packets_of = [&](unsigned host, unsigned port) {
      const std::string text = engine.handlers().read(
          "c.lookup", format("2001:db8::%x 2001:db8::63 %u %u 17", host, port, port == 0 ? 0 : 53));
      return std::stoull(text);
    };
    for (const auto& [flow, packets] : wanted) EXPECT_GE(packets_of(flow.first, flow.second), packets);
    EXPECT_EQ(packets_of(6, 1000), 0u);
    EXPECT_EQ(engine.handlers().read("flows.flows"), std::to_string(wanted.size() + 1));
  };
  const std::string chain = "TestSource(SETS \"l3 l4\") -> flows :: FlowTable -> c :: FlowCounter(flows) -> ";
  const Result result = run(chain + "sink :: TestSink;", cpu(), frames, options);
  EXPECT_GT(result.drop("flows.short"), 0u);
  EXPECT_EQ(result.drop("flows.ip6"), 0u);
  // Where something behind knows IPv4 only, none of IPv6 goes there.
  const Result refused = run(chain + "LoadBalancer(flows, 10.0.0.1) -> sink :: TestSink;", cpu(), frames);
  EXPECT_EQ(refused.at("sink").size(), 1u);
  EXPECT_EQ(refused.drop("flows.ip6"), frames.size() - 1);
}

TEST(Flow, NatTranslatesBothWays) {
  const uint32_t inside = ip(10, 0, 0, 1), outside = ip(198, 51, 100, 7), address = ip(192, 0, 2, 1);
  std::vector<Frame> frames;
  std::vector<Bytes> out, back;
  const auto goes_out = [&](unsigned port, int protocol, unsigned public_port, uint64_t ms) {
    frames.push_back(packet_of(inside, outside, port, 80, protocol, ms));
    out.push_back(packet_of(address, outside, public_port, 80, protocol).bytes);
  };
  const auto comes_back = [&](unsigned public_port, int protocol, unsigned port, uint64_t ms) {
    frames.push_back(packet_of(outside, address, 80, public_port, protocol, ms));
    back.push_back(packet_of(outside, inside, 80, port, protocol).bytes);
  };
  goes_out(5000, 6, 2000, 1000);
  goes_out(5001, 6, 2001, 1000);
  goes_out(5000, 17, 2000, 1000);  // TCP and UDP have ports apart
  goes_out(5001, 6, 2001, 1000);
  comes_back(2001, 6, 5001, 1001);
  comes_back(2000, 17, 5000, 1001);
  size_t no_flow = 0, no_port = 0;
  const auto refused = [&](Frame frame, size_t& count) { frames.push_back(std::move(frame)), ++count; };
  refused(packet_of(outside, address, 80, 2001, 17, 1001), no_flow);
  refused(packet_of(outside, address, 81, 2001, 6, 1001), no_flow);
  refused(packet_of(outside + 1, address, 80, 2001, 6, 1001), no_flow);
  refused(packet_of(outside, address, 80, 1, 6, 1001), no_flow);
  goes_out(5002, 6, 2002, 1002);
  refused(packet_of(inside, outside, 5003, 80, 6, 1003), no_port);
  goes_out(5001, 6, 2001, 1900);
  // The flows of 5000 and 5002 are over; their ports are given out again when somebody finds out, in a later batch.
  const int before = static_cast<int>(frames.size());
  frames.push_back(packet_of(inside, outside, 5000, 80, 6, 3000));
  out.push_back(packet_of(address, outside, 2000, 80, 6).bytes);
  Frame fragment = packet_of(inside, outside, 5000, 80, 6, 3000);
  put_u16(fragment.bytes, kL3 + 6, 5);
  frames.push_back(fragment);
  const Result result = run(
      "TestSource(SETS \"l3 l4\") -> flows :: FlowTable(TIMESTAMPS true, TIMEOUT 1s) -> nat :: NAT(flows, 192.0.2.1,"
      " PORTS 2000-2002); nat[0] -> out :: TestSink; nat[1] -> back :: TestSink;",
      cpu(), frames, {.batches = {before, 10}});
  EXPECT_TRUE(same(result.bytes("out"), out));
  EXPECT_TRUE(same(result.bytes("back"), back));
  EXPECT_EQ(result.drop("nat.no_flow"), no_flow);
  EXPECT_EQ(result.drop("nat.no_port"), no_port);
  EXPECT_EQ(result.drop("nat.not_translated"), 1u);
}

// A flood of flows of one packet ends none that have had two, and the table stays as large as it is.
TEST(Flow, TableBearsFloods) {
  std::vector<flow::Watcher*> watchers;
  struct Ended : flow::Watcher {
    size_t count = 0;
    std::set<uint32_t> sources;
    void flow_ends(const flow::Entry& entry, int) override { ++count, sources.insert(entry.key.source); }
  } ended;
  watchers.push_back(&ended);
  flow::ThreadTable table(0, 1000, {60000, 60000, 60000}, 1234567, watchers);
  constexpr uint32_t kKnown = 300;
  const auto touch = [&](uint32_t source, uint32_t now) {
    const flow::Key key{source, 2, 3, 4, 6};
    uint32_t place = 0;
    table.begin_batch();
    table.find_or_add(&key, &now, &place, 1);
    return place;
  };
  std::vector<uint32_t> places(kKnown);
  for (uint32_t k = 0; k < kKnown; ++k) touch(k, 1), places[k] = touch(k, 2), table.entry(places[k]).set_word(1, k + 7);
  size_t refused = 0;
  for (uint32_t k = 0; k < 200000; ++k) refused += touch(0x1000000 + k, 3 + k / 1000) == flow::kNoFlow ? 1 : 0;
  EXPECT_EQ(refused, 0u) << "new flows take the place of their like";
  EXPECT_LE(table.counts().flows, table.places());
  EXPECT_EQ(table.counts().flows, table.counts().added - table.counts().expired - table.counts().evicted);
  EXPECT_EQ(ended.count, table.counts().expired + table.counts().evicted);
  EXPECT_GE(*ended.sources.begin(), 0x1000000u);
  for (uint32_t k = 0; k < kKnown; ++k) {
    ASSERT_EQ(table.find({k, 2, 3, 4, 6}), places[k]);
    EXPECT_EQ(table.entry(places[k]).word(1), k + 7);
  }
  // All are over in time, and their places are free.
  table.age(table.places(), 100000);
  EXPECT_EQ(table.counts().flows, 0u);
  EXPECT_EQ(table.find({1, 2, 3, 4, 6}), flow::kNoFlow);
}

// What packets of a batch have found stays theirs until the next batch begins, whatever comes behind them.
TEST(Flow, PlacesStayForTheBatch) {
  struct Ended : flow::Watcher {
    std::vector<uint64_t> words;
    void flow_ends(const flow::Entry& entry, int) override { words.push_back(entry.word(0)); }
  } ended;
  const std::vector<flow::Watcher*> watchers = {&ended};
  flow::ThreadTable table(0, 100, {1000, 1000, 1000}, 7, watchers);
  const auto touch = [&](uint32_t source, uint32_t now) {
    const flow::Key key{source, 2, 3, 4, 6};
    uint32_t place = 0;
    table.find_or_add(&key, &now, &place, 1);
    return place;
  };
  table.begin_batch();
  std::set<uint32_t> places;
  size_t full = 0;
  for (uint32_t k = 0; k < 1000; ++k) {
    const uint32_t place = touch(k, 10 * k);
    if (place == flow::kNoFlow)
      ++full;
    else
      EXPECT_TRUE(places.insert(place).second) << "two flows of a batch have one place";
  }
  EXPECT_EQ(places.size(), table.counts().flows);
  EXPECT_EQ(places.size() + full, 1000u);
  EXPECT_TRUE(ended.words.empty());

  flow::ThreadTable other(0, 100, {1000, 1000, 1000}, 7, watchers);
  const flow::Key key{1, 2, 3, 4, 6};
  const uint32_t times[4] = {1, 900, 5000, 9000};
  uint32_t found[4];
  other.begin_batch();
  other.find_or_add(&key, times, found, 1);
  other.entry(found[0]).set_word(0, 77);
  const flow::Key keys[4] = {key, key, key, key};
  other.find_or_add(keys, times, found, 4);
  EXPECT_EQ(found[0], found[1]);
  EXPECT_NE(found[1], found[2]);
  EXPECT_NE(found[2], found[3]);
  EXPECT_NE(found[1], found[3]);
  EXPECT_EQ(other.entry(found[0]).word(0), 77u);
  EXPECT_EQ(other.entry(found[2]).word(0), 0u);
  EXPECT_EQ(other.counts().expired, 2u);
  EXPECT_TRUE(ended.words.empty());
  other.begin_batch();
  EXPECT_EQ(ended.words, (std::vector<uint64_t>{0, 77}));
  EXPECT_EQ(other.counts().flows, 1u);
  EXPECT_EQ(other.find(key), found[3]);
}

// Also where each flow's way back is there, whose buckets are its neighbours.
TEST(Flow, TableHoldsItsCapacity) {
  const std::vector<flow::Watcher*> watchers;
  for (const uint32_t capacity : {100u, 3000u, 100000u})
    for (const bool answered : {false, true}) {
      flow::ThreadTable table(0, capacity, {60000, 60000, 60000}, 99, watchers);
      const uint32_t now = 1;
      for (int twice = 0; twice < 2; ++twice)
        for (uint32_t k = 0; k < capacity; ++k) {
          const flow::Key there{k / 2, 1, 7, 9, 17}, back{1, k / 2, 9, 7, 17}, other{k, 1, 1, 1, 17};
          uint32_t place = 0;
          table.begin_batch();
          table.find_or_add(!answered ? &other : k % 2 == 0 ? &there : &back, &now, &place, 1);
        }
      EXPECT_LE(table.counts().evicted, capacity / 500) << capacity;
      EXPECT_EQ(table.counts().flows + table.counts().evicted, table.counts().added);
    }
}

// Whose packets come from where they go to, ports and all: its way back is itself.
TEST(Flow, AFlowMayBeItsOwnWayBack) {
  const std::vector<flow::Watcher*> watchers;
  for (const size_t capacity : {1, 12, 1000}) {
    flow::ThreadTable table(0, capacity, {60000, 60000, 60000}, 5, watchers);
    const flow::Key key{7, 7, 9, 9, 17};
    const uint32_t now = 1;
    uint32_t first = 0, place = 0;
    table.find_or_add(&key, &now, &first, 1);
    for (int packet = 0; packet < 2; ++packet) {
      table.begin_batch();
      table.find_or_add(&key, &now, &place, 1);
      EXPECT_EQ(place, first);
    }
    EXPECT_EQ(table.find(key), first);
    EXPECT_EQ(table.counts().flows, 1u);
  }
}

// A flow whose two buckets were one would find no room in a table that is almost empty: two buckets are enough for 16
// flows here, whatever the seed.
TEST(Flow, AFlowHasTwoBuckets) {
  const std::vector<flow::Watcher*> watchers;
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    flow::ThreadTable table(0, 12, {60000, 60000, 60000}, seed * 0x9e3779b97f4a7c15, watchers);
    ASSERT_EQ(table.places(), 16u);
    table.begin_batch();
    std::set<uint32_t> places;
    const uint32_t now = 1;
    for (uint32_t k = 0; k < table.places(); ++k) {
      const flow::Key key{k, 1, 2, 3, 17};
      uint32_t place = 0;
      table.find_or_add(&key, &now, &place, 1);
      places.insert(place);
    }
    EXPECT_EQ(places.size(), table.places()) << "seed " << seed;
    EXPECT_EQ(places.count(flow::kNoFlow), 0u) << "seed " << seed;
  }
}

// As many flows as the table is for: each has its place, where its word stays, and all find theirs again.
TEST(Flow, TenMillionFlows) {
  if (kSanitized) GTEST_SKIP() << "it takes a minute";
  constexpr uint32_t kFlows = 10'000'000;
  const std::vector<flow::Watcher*> watchers;
  flow::ThreadTable table(0, kFlows, {60000, 60000, 60000}, 99, watchers);
  ASSERT_GE(table.places(), kFlows);
  flow::Key keys[flow::ThreadTable::kMax];
  uint32_t places[flow::ThreadTable::kMax];
  const uint32_t now[flow::ThreadTable::kMax] = {};
  uint64_t lost = 0, wrong = 0;
  for (const bool again : {false, true})
    for (uint32_t k = 0; k < kFlows; k += std::size(keys)) {
      const int n = static_cast<int>(std::min<size_t>(std::size(keys), kFlows - k));
      for (int i = 0; i < n; ++i) keys[i] = {k + static_cast<uint32_t>(i), 1, 2, 3, 17};
      table.begin_batch();
      table.find_or_add(keys, now, places, n);
      for (int i = 0; i < n; ++i) {
        const uint64_t word = k + static_cast<uint64_t>(i) + 1;
        if (places[i] == flow::kNoFlow)
          ++lost;
        else if (!again)
          table.entry(places[i]).set_word(0, word);
        else if (table.entry(places[i]).word(0) != word)
          ++(table.entry(places[i]).word(0) == 0 ? lost : wrong);
      }
    }
  EXPECT_EQ(wrong, 0u);
  EXPECT_LE(lost, kFlows / 500);
  EXPECT_LE(table.counts().evicted, kFlows / 500);
  EXPECT_EQ(table.counts().flows, table.counts().added - table.counts().evicted);
  EXPECT_GE(table.counts().flows, kFlows - kFlows / 500);
}

TEST(Flow, TouchesOnlyWhatItDeclares) {
  AccessOptions options;
  options.shape = [](Frame& frame, std::mt19937& random) {
    if (frame.bytes.size() < 38) return;
    frame.bytes[23] = random() % 2 == 0 ? 6 : 17;
    put_u16(frame.bytes, 20, 0);
    if (random() % 2 == 0 || frame.bytes.size() < kL3 + 60) return;
    frame.bytes[kL3] = 0x60, frame.bytes[kL3 + 6] = 60;
    frame.bytes[kL4] = 17, frame.bytes[kL4 + 1] = static_cast<uint8_t>(random() % 3);
  };
  // The flow's place depends on a random seed, which is what the annotation is.
  for (const std::string& violation : access_violations("FlowTable", cpu(), options))
    EXPECT_NE(violation.find("flow"), std::string::npos) << violation;
}

TEST(Flow, NamesWhatIsWrong) {
  const auto of = [](const std::string& chain) {
    return mistakes("TestSource(SETS \"l3 l4\") -> " + chain + " -> TestSink;");
  };
  EXPECT_NE(of("FlowTable -> FlowCounter(x)").find("'x' is not a FlowTable of this chain"), std::string::npos);
  EXPECT_NE(of("FlowTable(TIMEOUT 31min)").find("TIMEOUT"), std::string::npos);
  std::string five = "f :: FlowTable";
  for (int i = 0; i < 5; ++i) five += format(" -> c%d :: FlowCounter(f)", i);
  EXPECT_NE(of(five).find("have four words, which 'c0', 'c1', 'c2', 'c3' have"), std::string::npos) << of(five);
  EXPECT_NE(of("FlowCounter(f) -> f :: FlowTable").find("reads the flow annotation"), std::string::npos);
}

}  // namespace
}  // namespace heddle::test
