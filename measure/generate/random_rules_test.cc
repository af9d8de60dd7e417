#include "measure/generate/random_rules.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <sstream>

namespace heddle::bench {
namespace {

// The lines read by means of their own: as many as asked for, ranges that are some, prefixes without bits behind,
// values from everywhere.
TEST(RandomRules, AreDrawnFromEverywhere) {
  std::istringstream lines(random_rules(4000, 7));
  std::set<unsigned> lengths, protocols, firsts;
  int count = 0, low_ports = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    unsigned a[4], b[4], source_length, destination_length, ports[4], protocol[2];
    ASSERT_EQ(std::sscanf(line.c_str(), "@%u.%u.%u.%u/%u %u.%u.%u.%u/%u %u : %u %u : %u %u-%u", a, a + 1, a + 2, a + 3,
                          &source_length, b, b + 1, b + 2, b + 3, &destination_length, ports, ports + 1, ports + 2,
                          ports + 3, protocol, protocol + 1),
              16)
        << line;
    for (const auto& [address, length] : {std::pair{a, source_length}, {b, destination_length}}) {
      const uint64_t value = uint64_t{address[0]} << 24 | address[1] << 16 | address[2] << 8 | address[3];
      ASSERT_TRUE(8 <= length && length <= 32 && value % (uint64_t{1} << (32 - length)) == 0) << line;
      lengths.insert(length);
      firsts.insert(address[0]);
    }
    ASSERT_TRUE(ports[0] <= ports[1] && ports[1] <= 65535 && ports[2] <= ports[3] && ports[3] <= 65535) << line;
    ASSERT_TRUE(protocol[0] <= protocol[1] && protocol[1] <= 255) << line;
    protocols.insert(protocol[1]);
    low_ports += ports[0] < 16384 ? 1 : 0;
  }
  EXPECT_EQ(count, 4000);
  EXPECT_EQ(lengths.size(), 25u);
  EXPECT_EQ(firsts.size(), 256u);
  EXPECT_GT(protocols.size(), 200u);
  EXPECT_NEAR(low_ports, 4000 * (1 - 0.75 * 0.75), 200);  // the lower of two
}

TEST(RandomRules, AreTheSameForTheSameSeed) {
  EXPECT_EQ(random_rules(50, 3), random_rules(50, 3));
  EXPECT_NE(random_rules(50, 3), random_rules(50, 4));
  EXPECT_TRUE(random_rules(60, 3).starts_with(random_rules(50, 3)));
}

}  // namespace
}  // namespace heddle::bench
