// Transport landing: packets that come back into other memory than they came from, and what stands behind them.

#include <algorithm>
#include <optional>
#include <vector>

#include "tests/support/every_class.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

const Backend kCpu{"cpu", "cpu", LaunchMode::persistent};

/** In every launch mode, on simt and, if this machine has one, the GPU. */
std::vector<Backend> landing_backends() {
  std::vector<Backend> list;
  for (const Backend& device : gpu_backends())
    if (device.transport == Transport::landing)
      for (const LaunchMode launch : {LaunchMode::sync, LaunchMode::async, LaunchMode::graph, LaunchMode::persistent})
        list.push_back({device.device + "_" + name(launch), device.device, launch, Transport::landing});
  return list;
}

class LandingTest : public OnBackend {
 protected:
  /** Runs a chain with functions where it says, and on the CPU alone; the sinks get the same. */
  Result compare(const std::string& chain, const std::vector<Frame>& frames, const Options& options) const {
    const Result wanted = run(on_cpu(chain), kCpu, frames, options), got = run(chain, GetParam(), frames, options);
    for (auto& [name, packets] : wanted.sinks) {
      EXPECT_FALSE(packets.empty());
      EXPECT_TRUE(same(got.bytes(name), wanted.bytes(name))) << name;
      for (size_t i = 0; i < std::min(packets.size(), got.at(name).size()); ++i)
        EXPECT_EQ(got.at(name)[i].timestamp_ns, packets[i].timestamp_ns);
    }
    return got;
  }

 private:
  static std::string on_cpu(std::string chain) {
    for (size_t at; (at = chain.find("DEVICE gpu")) != std::string::npos;) chain.replace(at, 10, "DEVICE cpu");
    return chain;
  }
};
INSTANTIATE_TEST_SUITE_P(Launches, LandingTest, testing::ValuesIn(landing_backends()), backend_name);

std::vector<Frame> mixed_frames(std::mt19937& random, size_t count) {
  std::vector<Frame> frames;
  for (size_t i = 0; i < count; ++i) {
    frames.push_back(random_frame(random, 60 + random() % (random() % 4 == 0 ? 1400 : 70)));
    if (random() % 2 == 0) frames.back().headroom = static_cast<int>(14 + random() % 115);
    frames.back().timestamp_ns = i + 1;
  }
  return frames;
}

TEST_P(LandingTest, WhatStandsBehindSeesPacketsAsTheyWere) {
  auto random = random_for("landing");
  const auto frames = mixed_frames(random, 700);
  // Chains, and how often packets land there.
  const std::pair<const char*, size_t> cases[] = {
      // What Strip has taken off has landed, too.
      {"TestSource -> Strip(14) -> m :: EtherMirror(DEVICE cpu) -> XOR(7, DEVICE gpu) -> n :: EtherMirror(DEVICE cpu) "
       "-> Unstrip(14) -> s :: TestSink;",
       1},
      // And what was put before packets and stripped.
      {"TestSource -> EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2) -> Strip(14) -> Unstrip(10) -> Strip(14) -> "
       "m :: EtherMirror(DEVICE cpu) -> SetCRC32(DEVICE gpu) -> Unstrip(14) -> EtherMirror(DEVICE cpu) -> s :: "
       "TestSink;",
       1},
      // What has landed grows, and lands again.
      {"TestSource -> XOR(7, DEVICE gpu) -> EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2) -> "
       "m :: EtherMirror(DEVICE cpu) -> SetCRC32(DEVICE gpu) -> n :: EtherMirror(DEVICE cpu) -> s :: TestSink;",
       2},
      // Its bytes are shared, copied, and wait.
      {"TestSource -> XOR(7, DEVICE gpu) -> t :: Tee; t[0] -> EtherMirror(DEVICE cpu) -> a :: TestSink;"
       "t[1] -> q :: Queue(100000) -> Unqueue -> b :: TestSink;",
       1}};
  for (auto& [chain, landings] : cases) {
    SCOPED_TRACE(chain);
    const Result result = compare(chain, frames, {.batches = {40}, .scratch = 32});
    for (auto& [which, count] : result.statistics) EXPECT_TRUE(which.find("moved_for_room") == which.npos) << which;
    ASSERT_EQ(result.report.traffic.size(), landings);
    for (const Report::Traffic& traffic : result.report.traffic) {
      EXPECT_EQ(traffic.landed, frames.size());
      EXPECT_EQ(traffic.landing_full, 0u);
    }
  }
}

TEST_P(LandingTest, PacketsThatAreDroppedGiveTheirPlacesBack) {
  auto random = random_for("landing drops");
  std::vector<Frame> frames = mixed_frames(random, 900);
  const char* chain =
      "TestSource -> c :: Classifier(0/00%01, -); c[0] -> SetCRC32(DEVICE cpu) -> check :: CheckCRC32(DEVICE gpu) -> "
      "XOR(3, DEVICE gpu) -> s :: TestSink; c[1] -> check;";
  const Result result = compare(chain, frames, {.batches = {40}, .scratch = 4});
  EXPECT_GT(result.dropped, 100u);
  EXPECT_EQ(result.report.traffic.at(0).landed.value_or(0), result.delivered);
}

// A consumer that is slow keeps more packets than there is room for: the rest comes back to its own buffers.
TEST_P(LandingTest, WhatWaitsIsNotOverwritten) {
  auto random = random_for("landing full");
  std::vector<Frame> frames;
  for (int i = 0; i < 3000; ++i) frames.push_back(random_frame(random, 1000 + random() % 400));
  const Result result =
      compare("TestSource -> XOR(7, DEVICE gpu) -> q :: Queue(100000) -> Unqueue(BURST 1) -> s :: TestSink;", frames,
              {.batches = {64}});
  const Report::Traffic& traffic = result.report.traffic.at(0);
  EXPECT_GT(traffic.landed.value_or(0), 500u);
  EXPECT_GT(traffic.landing_full, 500u);
  EXPECT_EQ(traffic.landed.value_or(0) + traffic.landing_full, frames.size());
}

// What waits in a queue has landed in memory of the configuration before.
TEST_P(LandingTest, WhatWaitsOutlivesItsConfiguration) {
  std::vector<Frame> frames(5000);
  for (size_t i = 0; i < frames.size(); ++i) frames[i].bytes.assign(600, static_cast<uint8_t>(i));
  Options options;
  options.endless = true, options.batches = {128};
  std::atomic<int> wrong{0};
  options.on_packet = [&](const std::string&, const Received& packet) {
    const auto wanted = static_cast<uint8_t>(packet.serial ^ 0xff);
    wrong += !std::all_of(packet.bytes.begin(), packet.bytes.end(), [&](uint8_t byte) { return byte == wanted; });
  };
  const std::string text =
      "src :: TestSource(ENDLESS true) -> XOR(255, DEVICE gpu) -> q :: Queue(2000) -> Unqueue(BURST 8) -> sink :: "
      "TestSink;";
  options.meanwhile = [&](Engine& engine) {
    for (int i = 0; i < 5; ++i) {
      wait_for_more(engine.handlers(), "sink.count");
      engine.reconfigure([&]() -> Configuration {
        click::Diagnostics diagnostics;
        Chain chain = read(text, GetParam().plan(), diagnostics);
        if (!diagnostics.ok()) throw Error(diagnostics.text());
        return {std::move(chain.router), std::move(chain.plan)};
      });
    }
    // More than wait in the queue: packets of the last configuration.
    const uint64_t enough = std::stoull(engine.handlers().read("sink.count")) + 3000;
    wait_while([&] { return std::stoull(engine.handlers().read("sink.count")) < enough; });
  };
  const Result result = run(text, GetParam(), frames, options);
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(result.delivered, 0u);
  EXPECT_GT(result.report.traffic.at(0).landed.value_or(0), 0u);
}

// By stores, what packets have; by the copy engine, whole lines of 64 bytes and the packets that are dropped as well.
TEST_P(LandingTest, BytesThatComeBackAreCounted) {
  auto random = random_for("landing bytes");
  std::vector<Frame> frames;
  uint64_t pieces = 0, lines = 0;
  for (int i = 0; i < 320; ++i) {
    frames.push_back(random_frame(random, 60 + random() % 1400));
    pieces += (frames.back().bytes.size() + 15) / 16 * 16, lines += (frames.back().bytes.size() + 63) / 64 * 64;
  }
  const Result result = run("TestSource -> XOR(7) -> s :: TestSink;", GetParam(), frames, {.batches = {32}});
  const Report::Traffic& traffic = result.report.traffic.at(0);
  EXPECT_EQ(traffic.to_gpu, 10 * 256 + pieces);
  EXPECT_EQ(traffic.from_gpu, 10 * 128 + (GetParam().launch == LaunchMode::persistent ? pieces : lines));
  EXPECT_EQ(traffic.declared_from_gpu, 0u);
}

std::vector<Segment> gpu_segments(const std::string& text, Transport transport) {
  click::Diagnostics diagnostics;
  Chain chain = read(text, {"simt", LaunchMode::persistent, transport}, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  std::erase_if(chain.plan.segments, [](auto& segment) { return !segment.processor.is_gpu(); });
  return chain.plan.segments;
}

std::string transport_of(const std::string& chain) {
  click::Diagnostics diagnostics;
  const Chain planned = read(chain, {"simt", LaunchMode::persistent, Transport::landing}, diagnostics);
  if (!diagnostics.ok()) return diagnostics.text();
  for (const Segment& segment : planned.plan.segments)
    if (segment.processor.is_gpu()) return std::string(name(segment.transport)) + ": " + segment.why_transport;
  return "nothing on the GPU";
}

TEST(LandingPlan, SaysWhatLandsAndWhatDoesNot) {
  EXPECT_EQ(transport_of("TestSource -> XOR(7) -> TestSink;"), "landing: --transport");
  EXPECT_EQ(transport_of("TestSource -> x :: XOR(7, TRANSPORT landing) -> TestSink;"), "landing: TRANSPORT of 'x'");
  EXPECT_EQ(transport_of("TestSource -> GetIPAddress(30) -> DirectIPLookup(0/0 0) -> TestSink;"),
            "gather: --transport, but nothing comes back that could land");
  EXPECT_EQ(transport_of("TestSource(SETS dst) -> DirectIPLookup(0/0 0) -> TestSink;"),
            "direct: no function wants bytes of packets");
  EXPECT_EQ(transport_of("TestSource -> MarkIPHeader(14) -> StripIPHeader -> XOR(7) -> TestSink;"),
            "gather: --transport, but how much has been stripped from packets differs, and that must land, too");
}

// What gather then is does not depend on what was asked for: the third takes from a twin what is there already.
TEST(LandingPlan, WhatCannotLandIsGatheredLikeAnything) {
  const FilesOfElements files;
  const std::string text = files.definitions() +
                           "TestSource -> GetIPAddress(30) -> DirectIPLookup(0/0 0) -> m :: EtherMirror(DEVICE cpu) -> "
                           "CheckIPHeader(14, DEVICE cpu) -> a :: AhoCorasick($patterns) -> EtherMirror(DEVICE cpu) -> "
                           "b :: AhoCorasick($patterns) -> TestSink; a[1] -> Discard; b[1] -> Discard;";
  const auto got = gpu_segments(text, Transport::landing), wanted = gpu_segments(text, Transport::gather);
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(got[i].transport, Transport::gather);
    EXPECT_EQ(got[i].warps, wanted[i].warps);
    EXPECT_EQ(got[i].copies.kept, wanted[i].copies.kept);
    EXPECT_EQ(got[i].copies.in.from, wanted[i].copies.in.from);
    EXPECT_EQ(got[i].copies.in.to, wanted[i].copies.in.to);
  }
  EXPECT_FALSE(got.at(0).copies.kept);
  EXPECT_TRUE(got.at(2).copies.kept);
  // Few bytes want one warp.
  const std::string narrow = "TestSource -> GetIPAddress(30) -> DirectIPLookup(0/0 0) -> TestSink;";
  EXPECT_EQ(gpu_segments(narrow, Transport::landing).at(0).warps, 1);
}

}  // namespace
}  // namespace heddle::test
