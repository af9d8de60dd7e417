// Packets find the association of their addresses, among selectors of any kind.

#include "functions/ipsec/selectors.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/frames.h"

namespace heddle::test {
namespace {

using namespace ipsec;
using Family = Selector::Family;

/** What Selectors are to find: of the longest destinations that have the ends, the first. */
uint32_t expected(const std::vector<Selector>& list, const Selector::Ends& ends) {
  uint32_t found = SelectorImage::kNone;
  for (uint32_t i = 0; i < list.size(); ++i)
    if (list[i].has(ends) &&
        (found == SelectorImage::kNone || list[i].destination.length > list[found].destination.length))
      found = i;
  return found;
}

TEST(Ipsec, SelectorsAreFoundAsOneByOne) {
  auto random = random_for("selectors");
  uint32_t found = 0, missed = 0;
  for (int round = 0; round < tries(300, 3000); ++round) {
    // Few networks, so that many selectors have one destination, and sources of several lengths contain each other.
    const auto address = [&](Family family) {
      const auto low = static_cast<uint32_t>(random() % 6 << 24 | random() % 3 << 8 | random() % 4);
      return family == Family::ip4 ? mapped(low) : Address{0x20010db8} << 96 | low;
    };
    const auto prefix = [&](Family family) {
      constexpr uint8_t kLengths[] = {96, 100, 104, 120, 128};
      const uint8_t length = family == Family::ip6 && random() % 8 == 0 ? 0 : kLengths[random() % 5];
      return Prefix{address(family), length};
    };
    const uint32_t count = random() % 300, destinations = 1 + random() % 4;
    std::vector<Prefix> shared[2];
    for (int f = 0; f < 2; ++f)
      for (uint32_t d = 0; d < destinations; ++d) shared[f].push_back(prefix(f == 0 ? Family::ip4 : Family::ip6));
    std::vector<Selector> list;
    const bool some_have_all = random() % 4 == 0;  // packets, so that hardly any has none
    while (list.size() < count) {
      const int f = static_cast<int>(random() % 2);
      const Family family = f == 0 ? Family::ip4 : Family::ip6;
      if (some_have_all && random() % 50 == 0)
        list.emplace_back();
      else
        list.push_back(
            {prefix(family), random() % 10 == 0 ? prefix(family) : shared[f][random() % destinations], family});
    }
    Selectors selectors;
    selectors.load(list);
    for (int n = 0; n < 100; ++n) {
      const Family family = random() % 2 == 0 ? Family::ip4 : Family::ip6;
      const Selector::Ends ends{family, address(family), address(family)};
      const uint32_t wanted = expected(list, ends);
      ASSERT_EQ(selectors.image().find(ends), wanted) << "round " << round << ", packet " << n;
      ++(wanted == SelectorImage::kNone ? missed : found);
    }
    EXPECT_EQ(selectors.image().find({}), SelectorImage::kNone);  // no IP packet
  }
  EXPECT_GT(found, 100u);
  EXPECT_GT(missed, 100u);
}

// The source decides among more of them than could be looked at one by one.
TEST(Ipsec, SelectorsOfOneDestinationAreFoundByTheirSources) {
  std::vector<Selector> list;
  for (uint32_t i = 0; i < 20000; ++i) list.push_back({{mapped(0x0a000000 + i), 128}, {mapped(0), 96}, Family::ip4});
  list.push_back({{mapped(0x0a000000), 104}, {mapped(0), 96}, Family::ip4});
  Selectors selectors;
  selectors.load(list);
  for (uint32_t i = 0; i < 20000; ++i)
    ASSERT_EQ(selectors.image().find({Family::ip4, mapped(0x0a000000 + i), mapped(i)}), i);
  EXPECT_EQ(selectors.image().find({Family::ip4, mapped(0x0aff0000), mapped(1)}), 20000u);
  EXPECT_EQ(selectors.image().find({Family::ip4, mapped(0x0b000000), mapped(1)}), SelectorImage::kNone);
  EXPECT_EQ(selectors.image().source_lengths.count, 2u);
}

}  // namespace
}  // namespace heddle::test
