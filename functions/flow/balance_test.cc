// LoadBalancer on every backend, against an oracle that chooses servers and makes checksums itself.

#include <cstdlib>
#include <map>
#include <set>

#include "functions/flow/flow.h"
#include "functions/flow/oracle_for_test.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

HEDDLE_ON_EVERY_FIXED_BACKEND(LoadBalancerTest);  // see IsNotMovedByLoad

/** A packet with headers at 14 and behind `options` bytes of options; `key` makes addresses, ports and protocol. */
Frame packet_of(unsigned key, size_t options, size_t payload, std::mt19937& random) {
  const int protocol = key % 5 == 0 ? 1 : key % 5 < 3 ? 6 : 17;
  const size_t l4 = kL3 + 20 + options, header = protocol == 6 ? 20 : 8;
  Frame frame = ip_frame(ip(10, 0, 0, key % 7), ip(192, 0, 2, key % 3), options + header + payload);
  Bytes& bytes = frame.bytes;
  for (size_t at = kL3 + 20; at < bytes.size(); ++at) bytes[at] = static_cast<uint8_t>(random());
  bytes[kL3] = static_cast<uint8_t>(0x45 + options / 4);
  bytes[kL3 + 9] = static_cast<uint8_t>(protocol);
  put_u16(bytes, l4, 1000 + key), put_u16(bytes, l4 + 2, 80);
  frame.column[static_cast<int>(Column::l3)] = kL3;
  frame.column[static_cast<int>(Column::l4)] = l4;
  return frame;
}

void set_ip_sum(Bytes& bytes) {
  const size_t end = kL3 + 4 * (bytes[kL3] & 15u);
  put_u16(bytes, kL3 + 10, 0);
  put_u16(bytes, kL3 + 10, ~ones_sum(bytes, kL3, end, 0) & 0xffff);
}
/** Makes the checksums right: `with_sum` says whether UDP has one. */
void finish(Bytes& bytes, bool with_sum = true) {
  set_ip_sum(bytes);
  const size_t l4 = kL3 + 4 * (bytes[kL3] & 15u);
  const int protocol = bytes[kL3 + 9];
  if ((bytes[kL3 + 6] & 0x1f) != 0 || bytes[kL3 + 7] != 0 || (protocol != 6 && protocol != 17)) return;
  if (bytes.size() < l4 + (protocol == 6 ? 20 : 8)) return;
  const size_t at = l4 + (protocol == 6 ? 16 : 6);
  put_u16(bytes, at, 0);
  if (protocol == 17 && !with_sum) return;
  const unsigned sum = ~transport_sum(bytes, kL3, l4) & 0xffff;
  put_u16(bytes, at, protocol == 17 && sum == 0 ? 0xffff : sum);
}

/** Whether it is a later fragment of TCP or UDP. */
bool lacks_its_ports(const Bytes& bytes) {
  return ((bytes[kL3 + 6] & 0x1f) != 0 || bytes[kL3 + 7] != 0) && (bytes[kL3 + 9] == 6 || bytes[kL3 + 9] == 17);
}

/** What a frame is to be behind a LoadBalancer whose servers are 10.9.0.0 to 10.9.0.6. */
constexpr const char* kServers = "10.9.0.0, 10.9.0.1, 10.9.0.2, 10.9.0.3, 10.9.0.4, 10.9.0.5, 10.9.0.6";
Bytes balanced(Bytes bytes) {
  const size_t l4 = kL3 + 4 * (bytes[kL3] & 15u);
  const bool had_sum = bytes[kL3 + 9] != 17 || bytes.size() < l4 + 8 || bytes[l4 + 6] != 0 || bytes[l4 + 7] != 0;
  put_u32(bytes, kL3 + 16, ip(10, 9, 0, server_of_flow(bytes, kL3, l4, 7)));
  finish(bytes, had_sum);
  return bytes;
}

std::vector<Frame> many_frames(std::mt19937& random, size_t count, unsigned flows) {
  std::vector<Frame> frames;
  for (size_t i = 0; i < count; ++i) {
    frames.push_back(packet_of(static_cast<unsigned>(random() % flows), random() % 4 == 0 ? 4 * (random() % 11) : 0,
                               random() % 100, random));
    Frame& frame = frames.back();
    const size_t l4 = frame.column[static_cast<int>(Column::l4)];
    if (i % 16 == 3) put_u16(frame.bytes, kL3 + 6, random() % 4);            // a later fragment, mostly
    if (i % 16 == 5) frame.bytes.resize(l4 + 4 + random() % 16);             // its transport header is cut
    if (i % 16 == 7) frame.headroom = 64 + static_cast<int>(random() % 64);  // at any address
    finish(frame.bytes, random() % 3 != 0);
  }
  return frames;
}

std::string chain_of(const std::string& table) {
  return "TestSource(SETS \"l3 l4\") -> flows :: FlowTable(" + table + ") -> c :: FlowCounter(flows) -> " +
         "lb :: LoadBalancer(flows, " + kServers + ") -> sink :: TestSink(READS dst);";
}

void expect_balanced(const Result& result, const std::vector<Frame>& frames) {
  const auto& got = result.at("sink");
  std::set<uint32_t> servers;
  size_t i = 0, fragments = 0;
  for (const Frame& frame : frames) {
    if (lacks_its_ports(frame.bytes)) {
      ++fragments;
      continue;
    }
    ASSERT_LT(i, got.size());
    const Bytes wanted = balanced(frame.bytes);
    ASSERT_TRUE(same({got[i].bytes}, {wanted})) << "packet " << i;
    ASSERT_EQ(__builtin_bswap32(static_cast<uint32_t>(got[i].column[static_cast<int>(Column::dst)])),
              get_u32(wanted, kL3 + 16));
    servers.insert(get_u32(wanted, kL3 + 16));
    ++i;
  }
  EXPECT_EQ(got.size(), i);
  EXPECT_GT(fragments, 0u);
  EXPECT_EQ(result.drop("lb.fragment"), fragments);
  EXPECT_EQ(servers.size(), 7u);
}

TEST_P(LoadBalancerTest, ChoosesAsTheOracle) {
  auto random = random_for("load balancer");
  const std::vector<Frame> frames = many_frames(random, 4000, 1500);
  const Result result = run(chain_of(""), GetParam(), frames, {.batches = {64, 1, 256, 33}});
  expect_balanced(result, frames);
  for (const char* element : {"c", "lb"})
    EXPECT_EQ(result.processor.at(element) != "cpu", GetParam().on_gpu()) << element;
}

// A table that is much too small: flows take each other's places while packets of theirs are in flight.
TEST_P(LoadBalancerTest, KeepsFlowsApartInAPlace) {
  auto random = random_for("load balancer places");
  std::vector<Frame> frames = many_frames(random, 6000, 2500);
  uint64_t ms = 1000;
  for (Frame& frame : frames) frame.timestamp_ns = (ms += random() % 50 == 0 ? random() % 1500 : 0) * 1000000;
  const Result result = run(chain_of("CAPACITY 1500, TIMESTAMPS true, TIMEOUT 1s"), GetParam(), frames,
                            {.batches = {64, 1, 256, 33}, .batch_size = 256});
  expect_balanced(result, frames);
  EXPECT_GT(result.statistics.at("flows.evicted") + result.statistics.at("flows.expired"), 1000u);
}

TEST_P(LoadBalancerTest, DoesTheSameToCaptures) {
  const char* data = std::getenv("HEDDLE_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "HEDDLE_TEST_DATA is not set";
  for (const char* capture : {"tcpdump_eth.pcap", "zeek_sample_10000.pcap"}) {
    const auto result_on = [&](const Backend& backend) {
      return run("FromDump(" + std::string(data) + "/pcap/" + capture + ") -> check :: CheckIPHeader(14)" +
                     " -> flows :: FlowTable(TIMESTAMPS true) -> LoadBalancer(flows, " + kServers +
                     ") -> sink :: TestSink;",
                 backend, {});
    };
    const std::vector<Bytes> on_cpu = result_on(backends()[0]).bytes();
    EXPECT_GT(on_cpu.size(), 1000u);
    EXPECT_TRUE(same(result_on(GetParam()).bytes(), on_cpu)) << capture;
  }
}

// Flows that there are keep their servers when `servers` is written; others get the new ones.
TEST_P(LoadBalancerTest, LeavesFlowsWhereTheyAre) {
  auto random = random_for("load balancer servers");
  std::vector<Frame> frames;
  constexpr unsigned kEach = 100;  // flows with these source ports are there at first; the others come later
  for (unsigned key = 0; key < 2 * kEach; ++key) {
    frames.push_back(packet_of(5 * key + 3, 0, 10, random));
    frames.back().bytes[kL3 + 14] = key < kEach ? 0 : 1;
    finish(frames.back().bytes);
  }
  std::atomic<uint64_t> early{0}, late{0}, wrong{0};
  Options options{.batches = {64, 1, 33}, .packets = 1024, .endless = true};
  options.on_packet = [&](const std::string& sink, const Received& packet) {
    if (sink != "sink") return;
    const Bytes& sent = frames[static_cast<size_t>(packet.serial)].bytes;
    const uint32_t server = get_u32(packet.bytes, kL3 + 16);
    const bool is_late = sent[kL3 + 14] == 1;
    if (is_late ? server != ip(10, 9, 9, 9) && server != ip(10, 9, 9, 8) : packet.bytes != balanced(sent)) ++wrong;
    ++(is_late ? late : early);
  };
  options.meanwhile = [&](Engine& engine) {
    Broker& handlers = engine.handlers();
    const auto wait_for = [](const std::atomic<uint64_t>& count, uint64_t more) {
      wait_while([&, start = count.load()] { return count - start < more; });
    };
    EXPECT_EQ(handlers.read("lb.servers"), "10.9.0.0 10.9.0.1 10.9.0.2 10.9.0.3 10.9.0.4 10.9.0.5 10.9.0.6");
    for (const char* bad : {"", "10.9.9.9 x", "10.9.9.9,10.9.9.8"})
      EXPECT_THROW(handlers.write("lb.servers", bad), Error) << bad;
    wait_for(early, 2048);
    handlers.write("lb.servers", "10.9.9.9 10.9.9.8");
    EXPECT_EQ(handlers.read("lb.servers"), "10.9.9.9 10.9.9.8");
    wait_for(early, 2048);
    handlers.write("gate.switch", "0");
    wait_for(late, 2048);
    wait_for(early, 512);
  };
  run(format("TestSource(SETS \"l3 l4\") -> which :: IPClassifier(src net 10.0.1.0/24, -);"
             "which[1] -> all :: Null -> flows :: FlowTable; which[0] -> gate :: Switch(1); gate[0] -> all;"
             "gate[1] -> Discard; flows -> lb :: LoadBalancer(flows, %s) -> sink :: TestSink;",
             kServers),
      GetParam(), frames, options);
  EXPECT_EQ(wrong, 0u);
}

// Any flow may stand in the column; no other memory is touched.
TEST_P(LoadBalancerTest, BearsAnyPlace) {
  auto random = random_for("load balancer any place");
  std::vector<Frame> frames = many_frames(random, 1000, 1);
  for (size_t i = 0; i < frames.size(); ++i)
    frames[i].column[static_cast<int>(Column::flow)] = i % 2 == 0 ? random() : random() % 300;
  const Result result = run(format("TestSource(SETS \"l3 l4 flow\") -> LoadBalancer(flows, %s) -> sink :: TestSink;"
                                   "Idle -> CheckIPHeader(14) -> flows :: FlowTable(CAPACITY 100) -> Discard;",
                                   kServers),
                            GetParam(), frames);
  EXPECT_EQ(result.at("sink").size(), frames.size());
}

// A flow would get another server with each change of sides once `servers` has been written.
TEST(LoadBalancer, IsNotMovedByLoad) {
  const auto mistakes_of = [](const std::string& device, const std::string& chosen) {
    PlanOptions options;
    options.set_device(device);
    click::Diagnostics diagnostics;
    read("Idle -> CheckIPHeader(14) -> flows :: FlowTable -> lb :: LoadBalancer(flows, 10.0.0.1" + chosen +
             ") -> FlowCounter(flows) -> Discard;",
         options, diagnostics);
    return diagnostics.text();
  };
  for (const auto& [device, chosen] : {std::pair{"auto:simt", ""}, std::pair{"simt", ", DEVICE auto"}}) {
    const std::string text = mistakes_of(device, chosen);
    EXPECT_NE(text.find("LoadBalancer 'lb': where the load decides (auto)"), std::string::npos) << text;
    EXPECT_NE(text.find("the servers of flows"), std::string::npos) << text;
    EXPECT_NE(text.find("give it DEVICE cpu or DEVICE gpu"), std::string::npos) << text;
    EXPECT_EQ(text.find("FlowCounter"), std::string::npos) << text;
  }
  for (const char* fixed : {", DEVICE cpu", ", DEVICE gpu", ", DEVICE gpu, ON_GPU_ERROR cpu"})
    EXPECT_EQ(mistakes_of("auto:simt", fixed), "") << fixed;
}

TEST(LoadBalancer, StandsBehindWhatHasFlowsOnTheCpu) {
  const std::string before =
      "Idle -> CheckIPHeader(14) -> flows :: FlowTable -> lb :: LoadBalancer(flows, 10.0.0.1) -> ";
  EXPECT_NE(plan_text(before + "FlowCounter(flows) -> Discard;", "simt").find("simt"), std::string::npos);
  EXPECT_EQ(plan_text(before + "nat :: NAT(flows, 192.0.2.1) -> Discard; nat[1] -> Discard;", "simt").find("simt"),
            std::string::npos);
  click::Diagnostics diagnostics;
  Chain chain =
      read(before + "c :: FlowCounter(flows, DEVICE cpu) -> Discard;", {"simt", LaunchMode::persistent}, diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
  Engine engine(std::move(chain.router), std::move(chain.plan), {});
  try {
    engine.start();
    ADD_FAILURE() << "it starts";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("on a GPU it must stand behind 'c'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace heddle::test
