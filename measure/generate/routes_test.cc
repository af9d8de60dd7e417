#include "measure/generate/routes.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/error.h"
#include "functions/ip_lookup/route_file.h"
#include "measure/generate/test_support.h"

namespace heddle::bench {
namespace {

std::map<int, size_t> lengths_of(const std::vector<Prefix>& prefixes) {
  std::map<int, size_t> counts;
  for (const auto& prefix : prefixes) ++counts[prefix.length];
  return counts;
}

// Of the lengths, how far shares are from the profile's at most.
double distance(const std::vector<Prefix>& prefixes, const RouteProfile& profile) {
  double sum = 0, most = 0;
  for (const auto& one : profile.classes) sum += one.count;
  auto counts = lengths_of(prefixes);
  for (const auto& one : profile.classes)
    most = std::max(most, std::abs(static_cast<double>(counts[one.length]) / static_cast<double>(prefixes.size()) -
                                   profile.count_of(one.length) / sum));
  return most;
}

double nested_share(const RouteProfile& profile) {
  double all = 0, nested = 0;
  for (const auto& one : profile.classes) {
    all += one.count;
    nested += one.cover == RouteProfile::kNone ? 0 : one.count;
  }
  return nested / all;
}

TEST(Routes, AreTheSameForTheSameSeed) {
  const auto text = [](Family family, uint64_t seed) {
    return route_file(generate_prefixes(real_profile(family), 5000, seed), family, 4, seed);
  };
  EXPECT_EQ(checksum(text(Family::ipv4, 1)), 5740231965692336377u);
  EXPECT_EQ(checksum(text(Family::ipv6, 1)), 991141796543853865u);
  EXPECT_NE(text(Family::ipv4, 1), text(Family::ipv4, 2));
}

TEST(Routes, HaveTheLengthsOfTheTable) {
  for (const Family family : {Family::ipv4, Family::ipv6})
    for (const size_t count : {1000u, 20'000u}) {
      const auto prefixes = generate_prefixes(real_profile(family), count, 7);
      EXPECT_EQ(prefixes.size(), count);
      EXPECT_EQ(std::set(prefixes.begin(), prefixes.end()).size(), count) << "duplicates";
      EXPECT_LE(distance(prefixes, real_profile(family)), 1.0 / static_cast<double>(count));
      for (const auto& prefix : prefixes) EXPECT_EQ(prefix.address & ~prefix_bits(prefix.length), Address{0});
    }
}

TEST(Routes, NestAsTheTableDoes) {
  const RouteProfile& real = real_profile(Family::ipv4);
  EXPECT_NEAR(nested_share(real), 0.521, 0.001);
  const auto made = profile_of(generate_prefixes(real, 50'000, 3), Family::ipv4);
  EXPECT_NEAR(nested_share(made), nested_share(real), 0.02);
  // In the registries' blocks: not in 0/8, 10/8, 127/8 or multicast.
  for (const auto& [block, count] : made.blocks) EXPECT_TRUE(real.blocks.contains(block)) << block;
  // And /24s side by side: 70 % of the table's have a sibling, none of ten per cent of random ones.
  const auto& near = made.near[24];
  double sum = 0;
  for (const double count : near) sum += count;
  EXPECT_GT(near[0] / sum, 0.3);
}

TEST(Routes, GrowBeyondTheProfileByMoreSpecifics) {
  const auto table = parse_profile(
      "small", "family ipv4\nblock 1 60\nblock 2 60\nclass - 10 3 2\nclass - 24 97 2\nclass 10 24 100 3\n");
  const auto prefixes = generate_prefixes(table, 2000, 1);
  EXPECT_EQ(prefixes.size(), 2000u);
  const auto made = profile_of(prefixes, Family::ipv4);
  EXPECT_LE(lengths_of(prefixes)[10], 7u);  // eight would leave no room
  EXPECT_GT(nested_share(made), 0.5);
}

TEST(Routes, OneAndTheSmallest) {
  for (const size_t count : {1u, 2u, 10u})
    for (const Family family : {Family::ipv4, Family::ipv6})
      EXPECT_EQ(generate_prefixes(real_profile(family), count, 1).size(), count);
}

TEST(Routes, SayWhenThereIsNoRoom) {
  const auto table = parse_profile("slash8", "family ipv4\nblock 1 1\nblock 2 1\nclass - 8 2 2\n");
  EXPECT_EQ(generate_prefixes(table, 2, 1).size(), 2u);
  EXPECT_THROW(generate_prefixes(table, 3, 1), Error);
}

TEST(Routes, AreReadByTheLookup) {
  const Temporary file(route_file(generate_prefixes(real_profile(Family::ipv4), 3000, 5), Family::ipv4, 7, 5));
  std::vector<std::string> errors;
  const auto routes = ip_lookup::read_route_file(file.path, errors);
  EXPECT_TRUE(errors.empty()) << errors[0];
  EXPECT_EQ(routes.size(), 3000u);
  std::set<uint32_t> outputs;
  for (const auto& route : routes) outputs.insert(route.hop.port);
  EXPECT_EQ(outputs, (std::set<uint32_t>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(RouteProfile, IsReadFromATable) {
  const Temporary file(
      "; a table\n10.0.0.0/8\t1\n10.1.0.0/16 2\n10.1.2.0/24 3\n10.1.3.0/24 3\n10.1.3.0/24 3\n192.0.2.0/24 "
      "4\n2001:db8::/32 9\n");
  const auto profile = profile_like(file.path, Family::ipv4);
  EXPECT_EQ(to_text(profile),
            "family ipv4\nblock 10 1\nblock 192 1\nclass - 8 1 1\nclass 8 16 1 1\nclass - 24 1 1\nclass 16 24 2 1\n"
            "covers 8 1\ncovers 16 1\nnear 24 1\n");
  EXPECT_EQ(to_text(parse_profile("again", to_text(profile))), to_text(profile));
  EXPECT_EQ(profile_like(file.path, Family::ipv6).count_of(32), 1);
}

TEST(RouteProfile, ReportsMistakes) {
  const std::pair<const char*, const char*> cases[] = {
      {"10.0.0.0/33 1\n", ":1: '10.0.0.0/33' is not a prefix such as 192.0.2.0/24"},
      {"# nothing\n", ": no IPv4 prefix in it"},
      {"family ipv4\nblock 256 1\n", ":2: '256' is not a block"},
      {"family ipv4\nclass 24 16 1 1\n", ":2: a cover must be shorter"},
      {"family ipv4\nclass - 16 1 2\n", ":2: a class has at least one parent"},
      {"family ipv4\nclass - 16 x 2\n", ":2: 'x' is not a number"},
      {"family ipv4\nclass - 33 1 1\n", ":2: '33' is not a prefix length"},
      {"family ipv4\nnear 2 1 1 1\n", ":2: more numbers than the length has bits"},
      {"family ipv4\nroutes 7\n", ":2: expected family"},
      {"family ipv4\nblock 1 1\n", ": a profile needs blocks and classes"},
      {"family ipv6\nblock 1 1\nclass - 32 1 1\n", ": this profile is not one of IPv4"},
  };
  for (const auto& [text, expected] : cases) {
    const Temporary file(text);
    EXPECT_NE(error_of([&] { profile_like(file.path, Family::ipv4); }).find(file.path + expected), std::string::npos)
        << error_of([&] { profile_like(file.path, Family::ipv4); });
  }
  EXPECT_NE(error_of([] { profile_like("/nonexistent", Family::ipv4); }).find("cannot read '/nonexistent'"),
            std::string::npos);
}

// The built-in profiles are what the tables give.
TEST(RouteProfile, IsThatOfTheRealTable) {
  const char* data = std::getenv("HEDDLE_TEST_DATA");
  const std::string table = std::string(data ? data : "") + "/routing/ipasn_20140513_v12.dat.gz";
  if (data == nullptr || !std::filesystem::exists(table)) GTEST_SKIP() << "no real table in $HEDDLE_TEST_DATA";
  const Temporary file(gunzip(table));
  EXPECT_EQ(to_text(profile_like(file.path, Family::ipv4)), to_text(real_profile(Family::ipv4)));
}

}  // namespace
}  // namespace heddle::bench
