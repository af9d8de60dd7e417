// FlowCounter on every backend. What it counts is compared with what arrives behind it; where flows end all the time,
// with FlowCounter on the CPU.

#include <map>

#include "functions/flow/flow.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

HEDDLE_ON_EVERY_BACKEND(FlowCounterTest);

constexpr unsigned kPackets = 1024;

/** Of UDP, with headers at 14 and 34; `key` makes addresses and ports. */
Frame packet_of(unsigned key, uint64_t ms, size_t payload) {
  Frame frame = ip_frame(ip(10, 0, 0, key % 5), ip(192, 0, 2, key % 3), 8 + payload);
  frame.bytes[14 + 9] = 17;
  set_ip_checksum(frame.bytes, 14);
  put_u16(frame.bytes, 34, 1000 + key), put_u16(frame.bytes, 36, 53);
  frame.column[static_cast<int>(Column::l3)] = 14;
  frame.column[static_cast<int>(Column::l4)] = 34;
  frame.timestamp_ns = ms * 1000000;
  return frame;
}
std::string lookup(Engine& engine, const std::string& element, unsigned key) {
  return engine.handlers().read(element + ".lookup",
                                format("10.0.0.%u 192.0.2.%u %u 53 17", key % 5, key % 3, 1000 + key));
}

/** Packets and bytes of the frames that arrive at `out`. */
class Arrivals {
 public:
  Arrivals(const std::vector<Frame>& frames, std::vector<unsigned> keys)
      : keys_(std::move(keys)), counts_(*std::ranges::max_element(keys_) + 1) {
    for (const Frame& frame : frames) lengths_.push_back(frame.bytes.size());
  }
  void operator()(const std::string& sink, const Received& packet) {
    if (sink != "out") return;
    const auto serial = static_cast<size_t>(packet.serial);
    ++counts_[keys_[serial]].first, counts_[keys_[serial]].second += lengths_[serial];
    ++out_;
  }
  void wait_for(uint64_t more) const {
    wait_while([&, start = out_.load()] { return out_ - start < more; });
  }
  /** Sends all that comes to `rest`, and waits for what is on its way to `out`. */
  void stop(Broker& handlers) const {
    handlers.write("from.switch", "1");
    wait_for_more(handlers, "rest.count");
    const uint64_t sent = std::stoull(handlers.read("n.count"));
    wait_while([&] { return out_ < sent; });
    EXPECT_EQ(out_, sent);
  }
  /** Of a flow; after stop(). */
  std::string text(unsigned key) const {
    return format("%llu %llu", static_cast<unsigned long long>(counts_[key].first),
                  static_cast<unsigned long long>(counts_[key].second));
  }

 private:
  std::vector<size_t> lengths_;
  std::vector<unsigned> keys_;  // by frame
  std::vector<std::pair<uint64_t, uint64_t>> counts_;
  std::atomic<uint64_t> out_{0};
};

Options endless(Arrivals& arrivals, std::function<void(Engine&)> meanwhile) {
  Options options{.batches = {64, 1, 256, 33}, .packets = kPackets, .endless = true};
  options.on_packet = [&](const std::string& sink, const Received& packet) { arrivals(sink, packet); };
  options.meanwhile = std::move(meanwhile);
  return options;
}

/** From a TestSource through a FlowTable to `counters` and `out`, or, when `from.switch` is 1, to `rest`. */
std::string chain_of(const std::string& table, const std::string& counters) {
  return "TestSource(SETS \"l3 l4\") -> from :: Switch -> flows :: FlowTable(" + table + ") -> n :: Counter -> " +
         counters + " -> out :: TestSink; from[1] -> rest :: TestSink;";
}

void expect_counts(Engine& engine, const Arrivals& arrivals, unsigned keys) {
  for (unsigned key = 0; key < keys; ++key) ASSERT_EQ(lookup(engine, "c", key), arrivals.text(key)) << "flow " << key;
}

TEST_P(FlowCounterTest, CountsPacketsAndBytes) {
  auto random = random_for("flow counter");
  std::vector<Frame> frames;
  std::vector<unsigned> keys;
  for (size_t i = 0; i < 1000; ++i) {
    keys.push_back(i % 4 == 0 ? static_cast<unsigned>(random() % 300) : 7);  // most are of one flow
    frames.push_back(packet_of(keys.back(), 0, random() % 900));
  }
  keys.push_back(300), frames.push_back(packet_of(300, 0, 0));
  Arrivals arrivals(frames, keys);
  const auto count_a_while = [&](Engine& engine) {
    engine.handlers().write("from.switch", "0");
    arrivals.wait_for(frames.size() + 1);
    arrivals.stop(engine.handlers());
    expect_counts(engine, arrivals, 301);
    EXPECT_EQ(lookup(engine, "c", 301), "0 0");
  };
  const std::string chain = chain_of("", "c :: FlowCounter(flows)");
  const Result result = run(chain, GetParam(), frames, endless(arrivals, [&](Engine& engine) {
                              count_a_while(engine);
                              count_a_while(engine);
                              // Flows and their counts go over to another configuration.
                              for (int i = 0; i < 2; ++i) {
                                engine.reconfigure([&] {
                                  click::Diagnostics diagnostics;
                                  Chain next = read(chain, GetParam().plan(), diagnostics);
                                  return Configuration{std::move(next.router), std::move(next.plan)};
                                });
                                arrivals.stop(engine.handlers());
                                expect_counts(engine, arrivals, 301);
                                count_a_while(engine);
                              }
                            }));
  EXPECT_EQ(result.processor.at("c") != "cpu", GetParam().on_gpu());
}

// A table that is much too small: flows end all the time, while packets of theirs are in flight, and others take their
// places.
TEST_P(FlowCounterTest, CountsEachFlowApartInAPlace) {
  auto random = random_for("flow counter places");
  std::vector<Frame> frames;
  std::vector<unsigned> keys;
  uint64_t ms = 1000;
  for (size_t i = 0; i < 3000; ++i) {
    ms += random() % 50 == 0 ? random() % 1500 : 0;
    keys.push_back(static_cast<unsigned>(random() % 3 == 0 ? random() % 20 : random() % 2000));
    frames.push_back(packet_of(keys.back(), ms, random() % 100));
  }
  Arrivals arrivals(frames, keys);
  const Result result = run(chain_of("CAPACITY 100, TIMESTAMPS true, TIMEOUT 1s",
                                     "cpu :: FlowCounter(flows, DEVICE cpu) -> c :: FlowCounter(flows)"),
                            GetParam(), frames, endless(arrivals, [&](Engine& engine) {
                              for (int turn = 0; turn < 3; ++turn) {
                                engine.handlers().write("from.switch", "0");
                                arrivals.wait_for(frames.size() / 2);
                                arrivals.stop(engine.handlers());
                                int there = 0;
                                for (unsigned key = 0; key < 2000; ++key) {
                                  // A flow that is over may end between two looks at it.
                                  const std::string counts = lookup(engine, "cpu", key),
                                                    copy = lookup(engine, "c", key), then = lookup(engine, "cpu", key);
                                  ASSERT_TRUE(copy == counts || copy == then)
                                      << "flow " << key << " in turn " << turn << ": " << counts << ", " << copy;
                                  there += counts == "0 0" ? 0 : 1;
                                }
                                EXPECT_GT(there, 20);
                              }
                            }));
  EXPECT_GT(result.statistics.at("flows.evicted") + result.statistics.at("flows.expired"), 1000u);
}

// Any flow may stand in the column; no other memory is touched.
TEST_P(FlowCounterTest, BearsAnyPlace) {
  auto random = random_for("flow counter any place");
  std::vector<Frame> frames;
  for (size_t i = 0; i < 1000; ++i) {
    frames.push_back(packet_of(1, 0, 0));
    frames.back().column[static_cast<int>(Column::flow)] = i % 2 == 0 ? random() : random() % 300;
  }
  const Result result =
      run("TestSource(SETS flow) -> c :: FlowCounter(flows) -> sink :: TestSink;"
          "Idle -> CheckIPHeader(14) -> flows :: FlowTable(CAPACITY 100) -> "
          "Discard;",
          GetParam(), frames);
  EXPECT_EQ(result.at("sink").size(), frames.size());
}

TEST(FlowCounter, StandsBehindOtherElementsOnAGpu) {
  const std::string before =
                        "Idle -> CheckIPHeader(14) -> flows :: FlowTable "
                        "-> c :: FlowCounter(flows",
                    behind = ") -> Null -> nat :: NAT(flows, 192.0.2.1) -> Discard; nat[1] -> Discard;";
  EXPECT_EQ(plan_text(before + behind, "simt").find("simt"), std::string::npos) << "--device leaves it on the CPU";
  EXPECT_NE(plan_text(before + ") -> Discard;", "simt").find("simt"), std::string::npos);
  click::Diagnostics diagnostics;
  Chain chain = read(before + ", DEVICE gpu" + behind, {"simt", LaunchMode::persistent}, diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
  Engine engine(std::move(chain.router), std::move(chain.plan), {});
  try {
    engine.start();
    ADD_FAILURE() << "it starts";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("on a GPU it must stand behind 'nat'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace heddle::test
