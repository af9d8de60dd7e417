// The table and its lookups on the CPU, in all forms that this processor has, against a search of bit strings.

#include "functions/ip6_lookup/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "core/error.h"
#include "functions/ip6_lookup/oracle_for_test.h"
#include "functions/ip6_lookup/route_file.h"
#include "measure/generate/routes.h"
#include "tests/support/frames.h"

namespace heddle::ip6_lookup {
namespace {

std::vector<uint16_t> found(const RouteTable& table, const Form& form, const std::vector<Address>& addresses,
                            size_t bulk) {
  std::vector<uint8_t> bytes(addresses.size() * 16 + 1);
  for (size_t i = 0; i < addresses.size(); ++i)
    for (size_t b = 0; b < 16; ++b)
      bytes[16 * i + b] = static_cast<uint8_t>((b < 8 ? addresses[i].high : addresses[i].low) >> (56 - 8 * (b % 8)));
  std::vector<uint16_t> hops(addresses.size(), 0xffff);
  const auto* keys = reinterpret_cast<const uint8_t(*)[16]>(bytes.data());
  for (size_t at = 0; at < addresses.size(); at += bulk)
    form.look_up(&table.image(), keys + at, hops.data() + at, static_cast<int>(std::min(bulk, addresses.size() - at)));
  return hops;
}

void expect_same(const RouteTable& table, const Oracle& oracle, const std::vector<Address>& addresses) {
  std::vector<uint16_t> wanted;
  for (const Address& address : addresses) {
    const auto port = oracle.lookup(address);
    wanted.push_back(static_cast<uint16_t>(port ? *port + 1 : 0));
    ASSERT_EQ(lookup(table.image(), address.high, address.low), wanted.back()) << to_text(address);
  }
  for (const Form& form : forms(table.engine()))
    for (const size_t bulk : {size_t{1}, size_t{7}, size_t{61}, size_t{64}, size_t{1024}}) {
      const auto got = found(table, form, addresses, bulk);
      for (size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(got[i], wanted[i]) << to_text(addresses[i]) << " by form " << form.name;
    }
}

std::string name_of(EngineKind engine) { return engine == EngineKind::tree ? "tree" : "trie"; }

class Ip6Table : public testing::TestWithParam<EngineKind> {};
INSTANTIATE_TEST_SUITE_P(Engines, Ip6Table, testing::Values(EngineKind::tree, EngineKind::trie),
                         [](const auto& info) { return name_of(info.param); });

TEST_P(Ip6Table, FindsTheLongestPrefix) {
  auto random = test::random_for("ip6 table");
  for (const size_t count : {0u, 1u, 2u, 6u, 7u, 8u, 62u, 63u, 64u, 500u, 3000u, 20000u})
    for (const uint32_t ports : {2u, 40000u}) {
      const auto routes = random_routes(random, count, ports);
      Oracle oracle;
      for (const Route& route : routes) oracle.add(route);
      RouteTable table(GetParam());
      table.load(routes);
      EXPECT_EQ(table.routes().size(), oracle.ports.size());
      expect_same(table, oracle, addresses_near(random, routes, 2000));
    }
}

// One /64 with as many levels below it as the main tree has, and many /64s with one route each, in more leaves than
// count their trees from one base.
TEST_P(Ip6Table, HoldsManyRoutesLongerThan64) {
  auto random = test::random_for("ip6 long prefixes");
  std::vector<Route> routes;
  for (uint32_t i = 0; i < 16000; ++i) {
    const Address in_one{0x20010db800000001, uint64_t{random()} << 32 | random()}, own{uint64_t{i} << 20, i};
    routes.push_back({prefix_of(in_one, static_cast<uint8_t>(65 + random() % 64)), {{}, i % 100}});
    routes.push_back({prefix_of(own, 128), {{}, i % 7}});
  }
  routes.push_back({prefix_of({0x20010db800000001, 0}, 64), {{}, 101}});
  Oracle oracle;
  for (const Route& route : routes) oracle.add(route);
  RouteTable table(GetParam());
  table.load(routes);
  if (const Image& image = table.image(); GetParam() == EngineKind::tree) {
    ASSERT_GT(image.level[image.levels - 2], kLeavesABase);  // the level above begins behind the leaves
  }
  expect_same(table, oracle, addresses_near(random, routes, 5000));
}

// As many leaves, and nodes above them, as the limits that the first levels are searched by just hold, or no longer.
TEST(Ip6Tree, FirstLevelsOfAllSizes) {
  const auto nodes_of_top = [](const Image& image) {
    const uint32_t top = image.top_level;
    return top == 0 ? 1 : image.level[top - 1] - image.level[top];  // levels lie from the last one up
  };
  const std::pair<uint32_t, uint32_t> sizes[] = {{1, 1},    {2, 2},   {8, 8},     {9, 9},    {33, 33},
                                                 {63, 63},  {64, 64}, {65, 8},    {567, 63}, {568, 64},
                                                 {576, 64}, {577, 8}, {5184, 64}, {5185, 8}};
  for (const auto& [leaves, nodes] : sizes) {
    RouteTable table(EngineKind::tree);
    Oracle oracle;
    std::vector<Route> routes;
    std::vector<Address> addresses;
    // Each of these routes is an interval, and so is what lies between two.
    for (uint64_t i = 1; i <= (uint64_t{leaves} * kLeafValues - 1) / 2; ++i) {
      const uint64_t high = i * 0x0003'0000'1234'0001;
      routes.push_back({prefix_of({high, 0}, 64), {{}, static_cast<uint32_t>(i % 1000)}});
      for (const uint64_t near : {high - 1, high, high + 1}) addresses.push_back({near, ~uint64_t{0}});
    }
    addresses.push_back({}), addresses.push_back({~uint64_t{0}, ~uint64_t{0}});
    for (const Route& route : routes) oracle.add(route);
    table.load(routes);
    EXPECT_EQ(nodes_of_top(table.image()), nodes) << leaves << " leaves";
    expect_same(table, oracle, addresses);
  }
}

TEST_P(Ip6Table, Changes) {
  auto random = test::random_for("ip6 changes");
  RouteTable table(GetParam());
  Oracle oracle;
  int replaced = 0;
  table.add_copy({.patch = [](size_t, std::span<const std::byte>) {}, .replace = [&] { ++replaced; }});
  const bool in_place = GetParam() == EngineKind::trie;
  std::vector<Route> all = random_routes(random, 400, 9);
  for (int round = 0; round < 60; ++round) {
    std::vector<Route> set;
    std::vector<Prefix> gone;
    for (int i = 0; i < 10; ++i) set.push_back(all[random() % all.size()]);
    for (int i = 0; i < 6; ++i) gone.push_back(all[random() % all.size()].prefix);
    std::erase_if(gone,
                  [&](const Prefix& p) { return std::ranges::any_of(set, [&](auto& s) { return s.prefix == p; }); });
    const Image& before = table.image();
    const uint16_t answer = lookup(before, all[0].prefix.address.high, all[0].prefix.address.low);
    table.change(set, gone);
    if (!in_place) {
      EXPECT_TRUE(table.has_retired());
      EXPECT_EQ(lookup(before, all[0].prefix.address.high, all[0].prefix.address.low), answer);
    }
    table.reclaim();
    EXPECT_FALSE(table.has_retired());
    for (const Prefix& prefix : gone) {
      oracle.remove(prefix);
      EXPECT_EQ(table.find(prefix), std::nullopt);
    }
    for (const Route& route : set) oracle.add(route);
    ASSERT_EQ(table.routes().size(), oracle.ports.size());
    for (const Address& address : addresses_near(random, all, 20)) {
      const auto hop = table.lookup(address);
      ASSERT_EQ(hop ? std::optional(hop->port) : std::nullopt, oracle.lookup(address));
    }
    expect_same(table, oracle, addresses_near(random, all, 100));
  }
  if (in_place)
    EXPECT_LE(replaced, 2);  // when groups run out
  else
    EXPECT_EQ(replaced, 60);
  table.load({});
  expect_same(table, {}, addresses_near(random, all, 100));
}

TEST_P(Ip6Table, ChoosesAmongItsForms) {
  auto random = test::random_for("ip6 forms");
  std::set<std::string> names;
  for (const Form& form : forms(GetParam(), true)) EXPECT_TRUE(names.insert(form.name).second) << form.name;
  EXPECT_TRUE(names.contains("gopt") && names.contains("by hand"));
  RouteTable table(GetParam());
  EXPECT_STREQ(table.form(), forms(GetParam()).front().name);
  for (const size_t count : {0u, 1000u, 30000u}) {
    const auto routes = random_routes(random, count, 9);
    table.load(routes);
    for (const bool early : {true, false, true}) {  // a table may come to another element
      table.choose_form_again(early);
      EXPECT_TRUE(names.contains(table.form()));
      EXPECT_FALSE(table.looks_up_early() && !(early && GetParam() == EngineKind::trie));
    }
    Oracle oracle;
    for (const Route& route : routes) oracle.add(route);
    for (const Address& address : addresses_near(random, routes, 300)) {
      uint8_t bytes[1][16];
      for (int b = 0; b < 16; ++b)
        bytes[0][b] = static_cast<uint8_t>((b < 8 ? address.high : address.low) >> (56 - 8 * (b % 8)));
      const auto port = oracle.lookup(address);
      for (const Form& form : forms(GetParam(), true)) {
        uint16_t hop = 0xffff;
        form.look_up(&table.image(), bytes, &hop, 1);
        ASSERT_EQ(hop, port ? *port + 1 : 0) << form.name;
      }
    }
  }
}

// A copy that follows the patches one by one never answers but as before a change or as behind it, whatever nests in
// whatever and in whatever order it comes and goes.
TEST(Ip6Trie, CopiesSeeOldOrNewAnswers) {
  auto random = test::random_for("ip6 trie patches");
  std::vector<Route> all = random_routes(random, 300, 9);
  for (Route& route : all)  // shorter ones have too many entries to be looked at again and again
    if (route.prefix.length < 12) route.prefix = prefix_of(route.prefix.address, 12);
  const std::vector<Address> addresses = addresses_near(random, all, 400);
  RouteTable table(EngineKind::trie);
  std::vector<std::byte> copy(table.bytes().begin(), table.bytes().end());
  const auto& copied = *reinterpret_cast<const Image*>(copy.data());
  Oracle before, behind;
  std::vector<std::pair<uint16_t, uint16_t>> answers(addresses.size());
  const auto answer_of = [](const Oracle& oracle, const Address& address) {
    const auto port = oracle.lookup(address);
    return static_cast<uint16_t>(port ? *port + 1 : 0);
  };
  bool all_right = true;
  size_t patches = 0;
  table.add_copy({.patch =
                      [&](size_t offset, std::span<const std::byte> bytes) {
                        std::memcpy(&copy[offset], bytes.data(), bytes.size());
                        ++patches;
                        for (size_t i = 0; i < addresses.size(); ++i) {
                          const uint16_t got = lookup(copied, addresses[i].high, addresses[i].low);
                          all_right = all_right && (got == answers[i].first || got == answers[i].second);
                        }
                      },
                  .replace = [] { FAIL() << "there is room"; }});
  for (int round = 0; round < 150; ++round) {
    std::vector<Route> set;
    std::vector<Prefix> gone;
    for (size_t i = random() % 8; i > 0; --i) {
      set.push_back(all[random() % all.size()]);
      set.back().hop.port = static_cast<uint32_t>(random() % 9);
    }
    for (size_t i = random() % 8; i > 0; --i) gone.push_back(all[random() % all.size()].prefix);
    for (const Prefix& prefix : gone) behind.remove(prefix);
    for (const Route& route : set) behind.add(route);
    for (size_t i = 0; i < addresses.size(); ++i)
      answers[i] = {answer_of(before, addresses[i]), answer_of(behind, addresses[i])};
    table.change(set, gone);
    ASSERT_TRUE(all_right) << "round " << round;
    table.reclaim();
    for (size_t i = 0; i < addresses.size(); ++i)
      ASSERT_EQ(lookup(copied, addresses[i].high, addresses[i].low), answers[i].second) << to_text(addresses[i]);
    before = behind;
  }
  EXPECT_GT(patches, 1000u);
  EXPECT_TRUE(std::ranges::equal(copy, table.bytes()));
  expect_same(table, behind, addresses);
}

// Whatever comes and goes, in random order: what is left needs no more than it would need alone.
TEST(Ip6Trie, GivesItsGroupsBack) {
  auto random = test::random_for("ip6 trie groups");
  std::vector<Route> all = random_routes(random, 250, 3);
  std::map<Prefix, Route> different;
  for (const Route& route : all)
    if (route.prefix.length > 8) different[route.prefix] = route;
  all.clear();
  for (const auto& [prefix, route] : different) all.push_back(route);
  RouteTable table(EngineKind::trie);
  const size_t empty = table.bytes_used();
  std::ranges::shuffle(all, random);
  for (const Route& route : all) table.change({&route, 1}, {}), table.reclaim();
  EXPECT_GT(table.bytes_used(), empty);
  std::ranges::shuffle(all, random);
  while (!all.empty()) {
    table.change({}, {&all.back().prefix, 1}), table.reclaim();
    all.pop_back();
    if (all.size() != 100 && all.size() != 10) continue;
    RouteTable alone(EngineKind::trie);
    alone.load(all);
    EXPECT_EQ(table.bytes_used(), alone.bytes_used());
    Oracle oracle;
    for (const Route& route : all) oracle.add(route);
    expect_same(table, oracle, addresses_near(random, all, 300));
  }
  EXPECT_EQ(table.bytes_used(), empty);
}

// Two halves of a group that lead to one output are no route of the entry above it.
TEST(Ip6Trie, KeepsAGroupOfEqualHalves) {
  const Route halves[] = {{prefix_of({0x20010db800000000, 0}, 33), {{}, 1}},
                          {prefix_of({0x20010db880000000, 0}, 33), {{}, 1}}},
              within{prefix_of({0x20010db801000000, 0}, 40), {{}, 2}};
  RouteTable table(EngineKind::trie);
  table.change(halves, {}), table.change({&within, 1}, {}), table.change({}, {&within.prefix, 1}), table.reclaim();
  table.change({}, {&halves[0].prefix, 1}), table.reclaim();
  Oracle oracle;
  oracle.add(halves[1]);
  expect_same(table, oracle, {halves[0].prefix.address, halves[1].prefix.address, within.prefix.address});
  table.change({}, {&halves[1].prefix, 1}), table.reclaim();
  EXPECT_EQ(table.bytes_used(), RouteTable(EngineKind::trie).bytes_used());
}

TEST(Ip6Trie, IsBuiltAnewWhenGroupsRunOut) {
  RouteTable table(EngineKind::trie);
  int replaced = 0;
  table.add_copy({.patch = [](size_t, std::span<const std::byte>) {}, .replace = [&] { ++replaced; }});
  Oracle oracle;
  std::vector<Route> all;
  for (uint32_t i = 0; i < 400; ++i) {  // 13 groups each
    all.push_back({prefix_of({uint64_t{i} << 40, i}, 128), {{}, i % 5}});
    table.change({&all.back(), 1}, {}), table.reclaim();
    oracle.add(all.back());
  }
  EXPECT_GE(replaced, 2);
  EXPECT_LE(replaced, 10);
  auto random = test::random_for("ip6 trie grows");
  expect_same(table, oracle, addresses_near(random, all, 500));
}

TEST(Ip6Trie, KeepsToItsMemory) {
  const auto route_of = [](uint32_t i) { return Route{prefix_of({uint64_t{i + 1} << 40, i}, 128), {{}, i % 5}}; };
  EXPECT_THROW(RouteTable(EngineKind::trie, 63 << 20), Error);
  RouteTable table(EngineKind::trie, 66 << 20);
  Oracle oracle;
  std::vector<Route> all;
  std::string why;
  while (why.empty()) {
    const Route route = route_of(static_cast<uint32_t>(all.size()));
    try {
      table.change({&route, 1}, {});
      all.push_back(route), oracle.add(route);
    } catch (const Error& error) {
      why = error.what();
    }
    table.reclaim();
  }
  EXPECT_EQ(why, format("%zu IPv6 routes need a trie of 67 MB, and MEMORY allows 66 MB", all.size() + 1));
  EXPECT_LE(table.bytes().size(), size_t{66} << 20);
  EXPECT_EQ(table.routes().size(), all.size());
  std::vector<Route> more = all;
  more.push_back(route_of(1u << 20));
  EXPECT_THROW(table.load(more), Error);
  auto random = test::random_for("ip6 trie full");
  expect_same(table, oracle, addresses_near(random, all, 500));
  // One goes, and there is room for another; all in one change, too.
  table.change({}, {&all[0].prefix, 1}), table.reclaim();
  oracle.remove(all[0].prefix);
  table.change({&more.back(), 1}, {}), table.reclaim();
  oracle.add(more.back());
  const Route another = route_of(1u << 21);
  table.change({&another, 1}, {&all[1].prefix, 1}), table.reclaim();
  oracle.remove(all[1].prefix), oracle.add(another);
  expect_same(table, oracle, addresses_near(random, more, 500));
}

TEST(Ip6Trie, KnowsItsGateways) {
  const auto route_by = [](uint32_t prefix, uint32_t gateway) {
    return Route{prefix_of({uint64_t{prefix} << 40, 0}, 24), {{0xfe80000000000000, gateway + 1}, 7}};
  };
  constexpr uint32_t kMax = UINT16_MAX + 1 - kFirstTree;
  std::vector<Route> routes;
  for (uint32_t i = 0; i < kMax; ++i) routes.push_back(route_by(i, i));
  RouteTable table(EngineKind::trie);
  table.load(routes);
  const auto number_at = [&](uint32_t prefix) {
    return hop_of(table.image(), lookup(table.image(), uint64_t{prefix} << 40, 5)).gateway;
  };
  std::set<uint32_t> numbers;
  for (uint32_t i = 0; i < kMax; ++i) numbers.insert(number_at(i));
  EXPECT_EQ(numbers.size(), kMax);
  EXPECT_FALSE(numbers.contains(0));
  const Route more = route_by(kMax, kMax);
  EXPECT_THROW(table.change({&more, 1}, {}), Error);
  EXPECT_EQ(table.routes().size(), kMax);
  // The values of gateways that nothing has any more come back when the trie is built anew.
  const Route other = route_by(3, kMax);
  table.change({&other, 1}, {}), table.reclaim();
  EXPECT_FALSE(numbers.contains(number_at(3)));
  EXPECT_TRUE(numbers.contains(number_at(4)));
}

TEST_P(Ip6Table, TakesTheLastOfEqualPrefixes) {
  RouteTable table(GetParam());
  table.load({{prefix_of({1, 0}, 64), {{}, 1}}, {prefix_of({1, 0}, 64), {{}, 2}}, {prefix_of({1, 0}, 64), {{}, 3}}});
  EXPECT_EQ(lookup(table.image(), 1, 7), 4);
  EXPECT_EQ(table.routes().size(), 1u);
}

TEST_P(Ip6Table, RefusesOutputsThatItCannotHold) {
  RouteTable table(GetParam());
  const Route fits{prefix_of({}, 0), {{}, RouteTable::kMaxPorts - 1}},
      beyond{prefix_of({}, 0), {{}, RouteTable::kMaxPorts}};
  table.load({fits});
  EXPECT_EQ(lookup(table.image(), 1, 1), RouteTable::kMaxPorts);
  EXPECT_THROW(table.load({beyond}), Error);
  EXPECT_EQ(table.routes().size(), 1u);
}

TEST_P(Ip6Table, KnowsGeneratedTables) {
  auto random = test::random_for("ip6 generated");
  std::vector<Route> routes;
  Oracle oracle;
  for (const auto& prefix : bench::generate_prefixes(bench::real_profile(bench::Family::ipv6), 20000, test::seed())) {
    const Address address{static_cast<uint64_t>(prefix.address >> 64), static_cast<uint64_t>(prefix.address)};
    routes.push_back(
        {prefix_of(address, static_cast<uint8_t>(prefix.length)), {{}, static_cast<uint32_t>(random() % 250)}});
    oracle.add(routes.back());
  }
  RouteTable table(GetParam());
  table.load(routes);
  expect_same(table, oracle, addresses_near(random, routes, 20000));
}

TEST(Ip6RouteFile, ReadsWhatItSays) {
  Route route;
  EXPECT_EQ(parse_route("2001:db8::1/32 3", route), "");
  EXPECT_EQ(route, (Route{prefix_of({0x20010db800000000, 0}, 32), {{}, 3}}));
  EXPECT_EQ(parse_route(" default\t::0  0 ", route), "");
  EXPECT_EQ(route, (Route{{}, {{}, 0}}));
  EXPECT_EQ(parse_route("::1 fe80::1 7", route), "");
  EXPECT_EQ(route, (Route{prefix_of({0, 1}, 128), {{0xfe80000000000000, 1}, 7}}));
  EXPECT_EQ(to_text(route.prefix), "::1/128");
  for (const char* text :
       {"", "::", ":: ", "::/129 0", "::/-1 0", "::/ 0", "10.0.0.0/8 0", ":::/0 0", "::/0 x", "::/0 -1",
        "::/0 4294967296", "::/0 :: 0 0", "::/0 g 0", "1:2:3:4:5:6:7:8:9/64 0", "::/0x10 0", "%/0 0"}) {
    EXPECT_NE(parse_route(text, route), "") << text;
    EXPECT_EQ(route.hop.port, 7u) << text;
  }
}

// A real table (2015-11-01): the AS of each prefix is its port.
TEST_P(Ip6Table, KnowsARealTable) {
  const char* data = std::getenv("HEDDLE_TEST_DATA");
  const std::string path = std::string(data ? data : "") + "/routing/ipasn6_20151101.dat.gz";
  if (data == nullptr || !std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  std::FILE* pipe = popen(("zcat '" + path + "'").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  auto random = test::random_for("ip6 real");
  std::vector<Route> routes;
  Oracle oracle;
  for (char line[256]; std::fgets(line, sizeof line, pipe) != nullptr;) {
    if (line[0] == ';' || std::strchr(line, ':') == nullptr) continue;  // IPv4 is in it, too
    Prefix prefix;
    ASSERT_EQ(parse_prefix(std::string_view(line).substr(0, std::strcspn(line, "\t")), prefix), "") << line;
    routes.push_back(
        {prefix, {{}, static_cast<uint32_t>(std::strtoul(line + std::strcspn(line, "\t"), nullptr, 10) % 49000)}});
    oracle.add(routes.back());
  }
  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_EQ(routes.size(), 27693u);
  RouteTable table(GetParam());
  table.load(routes);
  expect_same(table, oracle, addresses_near(random, routes, 50000));
}

}  // namespace
}  // namespace heddle::ip6_lookup
