// Rings whose packets leave by several others, on simt and, where there is one, on a GPU: a route table says which, and
// the peers check every frame.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "bench/ring_functions.h"
#include "functions/ip_lookup/direct_table.h"
#include "tests/support/patience.h"
#include "tests/support/ring_cases.h"

namespace heddle {
namespace {

using bench::PeerEnd;
using bench::RingHeader;
using bench::RingRig;

constexpr int kOutputs = 5, kNoRoute = kOutputs;
constexpr uint32_t kLeast = bench::kRingPayload + 8, kMost = 300;

/** Frame `number`: the output that it has a route to, and its bytes. */
int way_of(uint64_t number) { return static_cast<int>((number * 0x9e3779b97f4a7c15ull >> 40) % (kOutputs + 1)); }
uint32_t length_of(uint64_t number) {
  return kLeast + static_cast<uint32_t>((number * 0xbf58476d1ce4e5b9ull >> 40) % (kMost - kLeast + 1));
}
uint32_t write(uint8_t* frame, uint64_t number, int way) {
  const uint32_t length = length_of(number);
  std::mt19937 random(static_cast<uint32_t>(number));
  RingHeader header = bench::ring_header(length, random);
  header[16] = static_cast<uint8_t>(10 + way);
  bench::seal(header);
  std::memset(frame, 0x02, length);
  std::memcpy(frame + bench::kRingLink, header.data(), header.size());
  std::memcpy(frame + bench::kRingPayload, &number, sizeof number);
  return length;
}
bool is_frame(const uint8_t* frame, uint32_t length, uint64_t number, int way) {
  uint8_t wanted[kMost];
  return length == write(wanted, number, way) && std::memcmp(frame, wanted, length) == 0;
}

class RoutedRings : public testing::TestWithParam<test::RingCase> {
 protected:
  RingRig::Options options(int pairs, uint32_t size) const {
    std::vector<ip_lookup::Route> routes;
    RingRig::Function lookup{.name = "DirectIPLookup", .table = {}, .outputs = {}};
    for (int o = 0; o < kOutputs; ++o) {
      routes.push_back({static_cast<uint32_t>(10 + o) << 24, 8, {0, static_cast<uint32_t>(o)}});
      lookup.outputs.push_back(RingRig::transmit(o));
    }
    ip_lookup::DirectTable table;
    table.load(routes);
    lookup.table = bench::copy_of(table.bytes());
    RingRig::Options options;
    options.device = GetParam().device, options.owner = GetParam().owner;
    options.pairs = pairs, options.size = size, options.outputs = kOutputs;
    options.functions = {bench::check_header(1), lookup};
    options.columns = columns(Column::dst, Column::l3, Column::l4);
    return options;
  }
  bool on_simt() const { return GetParam().device.starts_with("simt"); }
};

// Each ring has its frames in the order of arrival, and the kernel ends and begins again while they are under way.
TEST_P(RoutedRings, EachFrameLeavesByItsRing) {
  RingRig rig(options(2, 256));
  const uint64_t frames = on_simt() ? static_cast<uint64_t>(test::tries(5'000, 100'000)) : 1'000'000;
  uint64_t next[2][kOutputs] = {}, wrong = 0, last = 0;
  std::mt19937 random(1);
  test::Patience patience;
  for (bool done = false; !done;) {
    uint64_t progress = 0;
    done = true;
    for (int pair = 0; pair < 2; ++pair) {
      PeerEnd& first = rig.end(pair);
      const auto burst = static_cast<int>(1 + random() % 200);
      // Nothing is dropped as `full`: rings are as long as what is on its way.
      uint64_t got = first.sent();
      for (int o = 0; o < kOutputs; ++o) {
        for (; next[pair][o] < frames && way_of(next[pair][o]) != o;) ++next[pair][o];
        got = std::min(got, next[pair][o]);
        done = done && next[pair][o] == frames;
      }
      const auto left = static_cast<int>(std::min(frames, got + 256) - first.sent());
      if (const int n = std::min({first.room(), left, burst}); n > 0)
        first.send(n, [](uint8_t* frame, uint64_t number) { return write(frame, number, way_of(number)); });
      for (int o = 0; o < kOutputs; ++o) {
        uint64_t& number = next[pair][o];
        PeerEnd& end = rig.end(pair, o);
        if (const int n = std::min(end.waiting(), burst); n > 0)
          end.take(n, [&](const uint8_t* frame, uint32_t length, uint64_t) {
            while (way_of(number) != o) ++number;
            wrong += !is_frame(frame, length, number, o);
            ++number;
          });
        progress += number;
      }
      progress += first.sent();
    }
    ASSERT_FALSE(patience.is_over(progress)) << "frames are lost";
    if (progress > last + frames) last = progress, rig.pause(), rig.resume();
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(last, 0u);
  const auto counts = test::counts_of(rig, 2 * frames);
  uint64_t without_route = 0;
  for (uint64_t number = 0; number < frames; ++number) without_route += way_of(number) == kNoRoute;
  EXPECT_EQ(counts.received, 2 * frames);
  EXPECT_EQ(counts.dropped, 2 * without_route);
  EXPECT_EQ(counts.sent, 2 * (frames - without_route));
}

// Of one whose peer takes nothing the ring holds the first frames, and those behind them are dropped.
TEST_P(RoutedRings, AFullRingStopsNoOther) {
  constexpr uint32_t kSize = 64;
  RingRig rig(options(1, kSize));
  PeerEnd &first = rig.end(0), &other = rig.end(0, 3);
  const auto way = [](uint64_t number) { return number % 2 == 0 ? 1 : 3; };
  const uint64_t frames = on_simt() ? 5'000 : 500'000;
  uint64_t next = 1, wrong = 0;
  for (test::Patience patience; next < frames + 1 && !patience.is_over(next + first.sent());) {
    const auto left = static_cast<int>(std::min(frames, next + kSize) - first.sent());
    if (const int n = std::min(first.room(), left); n > 0)
      first.send(n, [&](uint8_t* frame, uint64_t number) { return write(frame, number, way(number)); });
    other.take(other.waiting(), [&](const uint8_t* frame, uint32_t length, uint64_t) {
      wrong += !is_frame(frame, length, std::exchange(next, next + 2), 3);
    });
  }
  EXPECT_EQ(next, frames + 1);
  const auto counts = test::counts_of(rig, frames);
  EXPECT_EQ(counts.received, frames);
  EXPECT_EQ(counts.dropped, frames / 2 - kSize);
  PeerEnd& full = rig.end(0, 1);
  ASSERT_EQ(full.waiting(), static_cast<int>(kSize));
  full.take(kSize, [&](const uint8_t* frame, uint32_t length, uint64_t number) {
    wrong += !is_frame(frame, length, 2 * number, 1);
  });
  EXPECT_EQ(wrong, 0u);
}

TEST_P(RoutedRings, AnIndexThatLiesIsThatOfItsRing) {
  RingRig rig(options(1, 64));
  EXPECT_EQ(rig.fault(), gpu::kNoFault);
  rig.end(0, 2).give_back(1000);
  test::Patience patience;
  while (rig.fault() == gpu::kNoFault && !patience.is_over(0)) continue;
  EXPECT_EQ(rig.fault(), gpu::kTxIndexLies + 2);
}

std::vector<test::RingCase> routed_cases() {
  std::vector<test::RingCase> list = test::ring_cases();
  std::erase_if(list, [](const test::RingCase& one) { return !one.routed; });
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, RoutedRings, testing::ValuesIn(routed_cases()), test::name_of);

}  // namespace
}  // namespace heddle
