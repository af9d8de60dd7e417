// Function × transport × launch mode × batch size × way to it, where packets part. By default pairs, over the usual
// backends; with HEDDLE_FULL=1 (make test-all) the whole product, over every launch mode with every transport.

#include <set>

#include "simt/launches.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

class MatrixTest : public OnBackend {};
INSTANTIATE_TEST_SUITE_P(All, MatrixTest, testing::ValuesIn(full() ? backends_and_all_ways() : backends()),
                         backend_name);

Bytes same_frame(const Bytes& frame) { return frame; }
Bytes mirrored(const Bytes& frame) {
  Bytes result = frame;
  for (size_t i = 0; i < 12; ++i) result[i] = frame[(i + 6) % 12];
  return result;
}
Bytes complement(const Bytes& frame) {
  Bytes result;
  for (uint8_t byte : frame) result.push_back(static_cast<uint8_t>(255 - byte));
  return result;
}
/** With Click's CRC-32 behind it: most significant bit first, as a little-endian machine stores it. */
Bytes summed(const Bytes& frame) {
  uint32_t remainder = ~0u;
  for (const uint8_t byte : frame)
    for (int bit = 7; bit >= 0; --bit)
      remainder = remainder << 1 ^ ((remainder >> 31 ^ static_cast<uint32_t>(byte >> bit & 1)) != 0 ? 0x04c11db7u : 0u);
  Bytes result = frame;
  for (int i = 0; i < 4; ++i) result.push_back(static_cast<uint8_t>(remainder >> 8 * i));
  return result;
}
Bytes complement_of_summed(const Bytes& frame) { return complement(summed(frame)); }

struct Function {
  const char* text;
  Bytes (*oracle)(const Bytes&);
};
constexpr Function kFunctions[] = {{"EtherMirror", mirrored},
                                   {"XOR(255)", complement},
                                   {"DirectIPLookup(0/0 192.0.2.1 0)", same_frame},
                                   {"SetCRC32(VARIANT click) -> XOR(255)", complement_of_summed},
                                   {"SetCRC32 -> CheckCRC32", same_frame}};

// How packets get to the function and from it. `even` goes through it, `odd` another way; %s is the function.
struct Way {
  const char* name;
  const char* text;
  bool splits;  // only frames to even addresses go through the function
};
constexpr Way kWays[] = {
    {"straight", "TestSource -> GetIPAddress(30) -> %s -> even :: TestSink; TestSource -> odd :: TestSink;", false},
    {"behind a CPU split",
     "TestSource -> GetIPAddress(30) -> c :: Classifier(33/00%%01, -); c[0] -> %s -> even :: TestSink;"
     "c[1] -> odd :: TestSink;",
     true},
    {"behind a split in the segment",
     "TestSource -> GetIPAddress(30) -> rt :: DirectIPLookup(10.0.0.0 0, 10.0.0.2 0, 10.0.0.4 0, 10.0.0.0/8 1);"
     "rt[0] -> %s -> even :: TestSink; rt[1] -> odd :: TestSink;",
     true},
    {"before a split in the segment",
     "TestSource -> GetIPAddress(30) -> f :: %s -> n :: Counter -> rt :: DirectIPLookup(0/0 0); rt -> even :: TestSink;"
     "TestSource -> odd :: TestSink;",
     false},
};

constexpr int kBatches[] = {1, 31, 32, 33, 1024, 0};

void check(const Function& function, const Way& way, int batch, const Backend& backend) {
  auto random = random_for("matrix");
  std::vector<Frame> frames;
  const size_t count = batch == 0 ? 0 : batch == 1024 ? 1024 : static_cast<size_t>(3 * batch);
  for (size_t i = 0; i < count; ++i) frames.push_back(ip_frame(random(), ip(10, 0, 0, random() % 6), random() % 60));
  std::vector<Bytes> even, odd;
  for (auto& frame : frames) {
    const bool through = !way.splits || frame.bytes[33] % 2 == 0;
    if (through) even.push_back(function.oracle(frame.bytes));
    if (!through || !way.splits) odd.push_back(frame.bytes);
  }
  const std::string text = way.text;
  const size_t place = text.find("%s");
  std::string chain = text.substr(0, place) + function.text + text.substr(place + 2);
  while (chain.find("%%") != std::string::npos) chain.erase(chain.find("%%"), 1);
  const Result result = run(chain, backend, frames, {.batches = {batch}, .scratch = 4});
  EXPECT_TRUE(same(result.bytes("even"), even));
  EXPECT_TRUE(same(result.bytes("odd"), odd));
}

/** Checks what is to be checked, each with the next of `backends`. */
void check_all(const std::vector<Backend>& backends) {
  size_t done = 0;
  for (size_t f = 0; f < std::size(kFunctions); ++f)
    for (size_t w = 0; w < std::size(kWays); ++w)
      for (size_t b = 0; b < std::size(kBatches); ++b) {
        // Each pair (function, way), (function, batch), (way, batch) once at least.
        if (!full() && (b + w + 2 * f) % 3 != 0) continue;
        const Backend& backend = backends[done++ % backends.size()];
        SCOPED_TRACE(
            format("%s %s, batches of %d, %s", kFunctions[f].text, kWays[w].name, kBatches[b], backend.name.c_str()));
        check(kFunctions[f], kWays[w], kBatches[b], backend);
      }
  EXPECT_GE(done, std::size(kWays) * std::size(kBatches));
}

TEST_P(MatrixTest, AgreesWithTheOracle) { check_all({GetParam()}); }

// They take turns, so that all together take as long as one.
TEST(Matrix, LaunchModesAndTransportsThatTheUsualBackendsLeaveOut) {
  if (full()) GTEST_SKIP() << "they are among all ways";
  std::set<std::string> devices;
  for (const Backend& backend : gpu_backends()) devices.insert(backend.device);
  for (const std::string& device : devices) {
    std::vector<Backend> ways;
    for (const auto& [launch, transport] : {std::pair{LaunchMode::graph, Transport::direct},
                                            {LaunchMode::async, Transport::commlist},
                                            {LaunchMode::graph, Transport::zerocopy},
                                            {LaunchMode::async, Transport::landing},
                                            {LaunchMode::graph, Transport::commlist}})
      ways.push_back({format("%s_%s_%s", device.c_str(), name(launch), name(transport)), device, launch, transport});
    const simt::Launches before = simt::launches();
    check_all(ways);
    if (device == "simt") {
      EXPECT_GE(simt::launches().graphs, before.graphs + 20);
    }
  }
}

// Every launch mode with every transport that goes with it, over functions that read little, everything, and grow.
TEST(Matrix, EveryPairOfLaunchModeAndTransport) {
  auto random = random_for("transports");
  std::vector<Frame> frames;
  for (int i = 0; i < 500; ++i) frames.push_back(ip_frame(random(), ip(10, 0, 0, random() % 6), random() % 1400));
  for (const char* functions :
       {"EtherMirror", "SetCRC32 -> XOR(90)", "CheckCRC32 -> EtherMirror", "Strip(14) -> XOR(7) -> Unstrip(14)"}) {
    const std::string chain = format(
        "TestSource -> SetCRC32(DEVICE cpu) -> c :: Classifier(33/00%%01, -); c[0] -> %s "
        "-> even :: TestSink; c[1] -> odd :: TestSink;",
        functions);
    const Options options{.batches = {40}, .scratch = 4};  // the check sum, where it is taken off again
    const Result wanted = run(chain, {"cpu", "cpu", LaunchMode::persistent}, frames, options);
    ASSERT_FALSE(wanted.bytes("even").empty());
    for (const Backend& way : all_ways()) {
      SCOPED_TRACE(format("%s, %s", functions, way.name.c_str()));
      const Result got = run(chain, way, frames, options);
      EXPECT_TRUE(same(got.bytes("even"), wanted.bytes("even")));
      EXPECT_TRUE(same(got.bytes("odd"), wanted.bytes("odd")));
    }
  }
}

}  // namespace
}  // namespace heddle::test
