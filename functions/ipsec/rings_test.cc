// IPsecSequence between rings, on simt and, where there is one, on a GPU: tiles have their turns in the order of
// arrival, whatever they drop and wherever their packets part and meet.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>

#include "bench/ring_rig.h"
#include "core/load.h"
#include "functions/ipsec/burst.h"
#include "functions/ipsec/chains_for_test.h"
#include "functions/ipsec/sequence_table.h"
#include "tests/support/patience.h"
#include "tests/support/ring_cases.h"

namespace heddle::ipsec {
namespace {

using bench::PeerEnd;
using bench::RingRig;

constexpr uint32_t kLink = 14, kMtu = 256;

/** The two associations of the program: a tunnel over IPv4, and one over IPv6 whose extended numbers pass the end of 32
 *  bits. */
constexpr uint64_t kFrom[] = {0, (uint64_t{2} << 32) - 500};
void load(Associations& associations) {
  const test::esp::KeyFile keys(
      test::esp::associations({{0x1001}, {0x1002, "", 64, {128, 128}, {.ip6 = true, .extended_from = kFrom[1]}}}));
  std::vector<std::string> errors;
  associations.load(read_association_file(keys.path(), errors), kLink);
  EXPECT_TRUE(errors.empty());
}

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

std::vector<std::byte> sequence(const Associations& associations, uint32_t only, uint32_t mtu) {
  SequenceTable table;
  table.load(associations, {.count = 0, .link_bytes = 0, .by = By::spi, .only = only, .mtu = mtu, .second_output = 1});
  return copy_of(table.bytes());
}

/** Frame `number`: its addresses are the number; whole runs are short (dropped before), broken (dropped by
 *  IPsecSequence), small (of the first association) or big (of the second), others mixed. */
enum class Kind { short_one, broken, small, big };
Kind kind_of(uint64_t number) {
  const uint64_t run = (number / 24) * 0x9e3779b97f4a7c15ull >> 61, one = number * 0xbf58476d1ce4e5b9ull >> 62;
  return static_cast<Kind>(run < 4 ? run : one);
}
uint32_t bytes_of(uint64_t number) {
  const auto some = static_cast<uint32_t>(number * 0x94d049bb133111ebull >> 58);  // 0..63
  switch (kind_of(number)) {
    case Kind::short_one:
      return 1 + some % 11;
    case Kind::big:
      return kLink + kMtu + some;
    default:
      return kLink + kIp4Bytes + some;
  }
}
uint32_t write(uint8_t* frame, uint64_t number) {
  const uint32_t length = bytes_of(number);
  std::memset(frame, static_cast<int>(number), length);
  std::memcpy(frame, &number, std::min<size_t>(sizeof number, length));
  if (kind_of(number) == Kind::short_one) return length;
  frame[kLink] = kind_of(number) == Kind::broken ? 0x55 : 0x45;
  store_u16(frame + kLink + 2, static_cast<uint16_t>(swapped16(length - kLink)));
  return length;
}

struct Ring {
  Associations& associations;
  uint64_t next = 0;                        // frame that is to come
  uint64_t last[2] = {kFrom[0], kFrom[1]};  // numbers of the associations
  std::vector<uint64_t> numbers[2] = {};
  uint64_t wrong = 0;
  std::unique_ptr<Burst> burst = std::make_unique<Burst>();

  static bool leaves(uint64_t number) { return kind_of(number) == Kind::small || kind_of(number) == Kind::big; }
  void skip() {
    while (!leaves(next)) ++next;
  }
  void take(const uint8_t* frame, uint32_t length) {
    skip();
    uint64_t addresses;
    std::memcpy(&addresses, frame + 6, 6);
    const uint32_t which = kind_of(next) == Kind::big, inner = bytes_of(next) - kLink;
    const Association& sa = associations[which];
    std::vector<uint8_t> esp(frame + kLink + sa.ip_bytes(), frame + length);
    const uint32_t low = swapped(load_u32(&esp[4]));
    const uint64_t number = last[which] + static_cast<uint32_t>(low - static_cast<uint32_t>(last[which]));
    wrong += (addresses & 0xffffffff) != (next & 0xffffffff);
    wrong += load_u32(esp.data()) != sa.spi;
    wrong += length != kLink + sa.front_bytes() + ciphertext_bytes(inner) + sa.suite.icv_bytes;
    wrong += number <= last[which];
    burst->begin(1);
    burst->decipher(associations.details(which), esp.data(), ciphertext_bytes(inner),
                    static_cast<uint32_t>(number >> 32));
    wrong += !burst->finish() || !burst->authentic(0);
    numbers[which].push_back(last[which] = number);
    ++next;
  }
};

class IPsecBetweenRings : public testing::TestWithParam<test::RingCase> {
 protected:
  void expect_order(const gpu::Copies& copies);
};

TEST_P(IPsecBetweenRings, NumbersAreInTheOrderOfArrival) { expect_order({}); }

TEST_P(IPsecBetweenRings, SoAreThoseOfGatheredPackets) {
  if (!GetParam().spread) GTEST_SKIP() << "nothing is gathered";
  constexpr gpu::Span kWhole{0, gpu::Span::kToEnd};
  expect_order({.in = kWhole,
                .out = {gpu::Span::kFromStart, gpu::Span::kToEnd},
                .before = kIp6Bytes + kEspBytes + kIvBytes,
                .behind = kMaxPadding + kTrailerBytes + kMaxIcvBytes});
}

void IPsecBetweenRings::expect_order(const gpu::Copies& copies) {
  Associations associations;
  load(associations);
  RingRig::Options options;
  options.device = GetParam().device, options.owner = GetParam().owner;
  options.pairs = 2, options.size = 256;
  options.workers = GetParam().workers(), options.split = GetParam().split, options.copies = copies;
  options.outputs = GetParam().outputs();
  options.columns = columns(Column::sa, Column::esp_sequence, Column::esp_iv);
  options.functions = {{.table = {}, .outputs = {1}},
                       {"IPsecSequence", sequence(associations, 0, kMtu), {3, 2}, associations.count()},
                       {"IPsecSequence", sequence(associations, 1, kMaxIpBytes), {3, 3}, associations.count()},
                       {"IPsecEncap", copy_of(associations.bytes()), {RingRig::kTransmit}}};
  RingRig rig(options);
  const uint64_t frames = GetParam().device.starts_with("simt") ? 5'000 : 500'000;
  std::vector<Ring> rings;
  for (int i = 0; i < rig.pairs(); ++i) rings.push_back({associations});
  std::mt19937 random(1);
  test::Patience patience;
  uint64_t stops = 0;
  for (bool done = false; !done;) {
    uint64_t progress = 0;
    done = true;
    for (int i = 0; i < rig.pairs(); ++i) {
      PeerEnd& end = rig.end(i);
      Ring& ring = rings[static_cast<size_t>(i)];
      const auto burst = static_cast<int>(1 + random() % 200);
      const auto left = static_cast<int>(std::min<uint64_t>(frames - end.sent(), static_cast<uint64_t>(burst)));
      if (const int n = std::min(end.room(), left); n > 0)
        end.send(n, [](uint8_t* frame, uint64_t number) { return write(frame, number); });
      if (const int n = std::min(end.waiting(), burst); n > 0)
        end.take(n, [&](const uint8_t* frame, uint32_t length, uint64_t) { ring.take(frame, length); });
      ring.skip();
      done = done && ring.next >= frames;
      progress += end.sent() + ring.next;
    }
    ASSERT_FALSE(patience.is_over(progress)) << "frames are lost";
    if (rings[0].next > (stops + 1) * frames / 5) ++stops, rig.pause(), rig.resume();
  }
  EXPECT_GE(stops, 4u);
  EXPECT_EQ(rings[0].wrong + rings[1].wrong, 0u);
  for (int which = 0; which < 2; ++which) {
    std::vector<uint64_t> all = rings[0].numbers[which];
    all.insert(all.end(), rings[1].numbers[which].begin(), rings[1].numbers[which].end());
    std::sort(all.begin(), all.end());
    EXPECT_GT(all.size(), frames / 8);
    for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], kFrom[which] + i + 1);
  }
  const auto counts = test::counts_of(rig, 2 * frames);
  EXPECT_EQ(counts.sent + counts.dropped, 2 * frames);
}

INSTANTIATE_TEST_SUITE_P(All, IPsecBetweenRings, testing::ValuesIn(test::ring_cases()), test::name_of);

}  // namespace
}  // namespace heddle::ipsec
