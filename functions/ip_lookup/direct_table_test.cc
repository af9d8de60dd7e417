#include "functions/ip_lookup/direct_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

#include "core/error.h"
#include "functions/ip_lookup/oracle_for_test.h"

namespace heddle::ip_lookup {
namespace {

using Random = std::mt19937;

constexpr uint32_t ip(uint32_t a, uint32_t b, uint32_t c, uint32_t d) { return a << 24 | b << 16 | c << 8 | d; }

/** A random prefix from a small part of the address space, so that prefixes nest and share /24s. */
Route random_route(Random& random, uint32_t distinct_hops = 20) {
  static constexpr uint8_t kLengths[] = {0,  1,  2,  4,  7,  8,  9,  12, 15, 16, 17, 20, 22, 23,
                                         24, 24, 24, 25, 25, 26, 27, 28, 29, 30, 31, 32, 32, 32};
  uint8_t length = kLengths[random() % std::size(kLengths)];
  if (length < 7 && random() % 16 != 0) length += 8;  // few that own millions of entries: they take long
  const uint32_t hop = random() % distinct_hops;
  const uint32_t address = ip(10 + random() % 2, random() % 2, random() % 4, random() % 256);
  return normalised({address, length, {hop % 3 == 0 ? hop : 0, hop}});
}

/** The first and last address of each prefix and their neighbours, and some more. */
std::vector<uint32_t> boundaries(const std::vector<Route>& routes, Random& random) {
  std::vector<uint32_t> probes = {0, 1, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
  for (const Route& route : routes) {
    const uint32_t last = route.address + static_cast<uint32_t>((uint64_t{1} << (32 - route.length)) - 1);
    for (const uint32_t edge : {route.address, last}) probes.insert(probes.end(), {edge - 1, edge, edge + 1});
    probes.push_back(route.address + random() % 65536);
  }
  std::ranges::sort(probes);
  probes.erase(std::unique(probes.begin(), probes.end()), probes.end());
  return probes;
}

std::string text(const Answer& hop) { return hop ? format("hop %08x:%u", hop->gateway, hop->port) : "no route"; }

Answer lookup_in(const DirectImage& image, uint32_t address) {
  const uint16_t hop = dir24_lookup(image.tbl24, image.tbl8[0], address);
  return hop == 0 ? std::nullopt : Answer(image.hops[hop]);
}

/** Every probe through the single and the bulk lookup against the oracle. */
void expect_agreement(const DirectTable& table, const Oracle& oracle, const std::vector<uint32_t>& probes) {
  std::vector<uint16_t> hops(probes.size()), others(probes.size());
  table.lookup_bulk(probes.data(), hops.data(), static_cast<int>(probes.size()));
  for (const DirectForm& form : direct_forms(true)) {
    form.look_up(table.image(), probes.data(), others.data(), static_cast<int>(probes.size()));
    ASSERT_EQ(hops, others) << form.name;
  }
  for (size_t i = 0; i < probes.size(); ++i) {
    const Answer expected = oracle.lookup(probes[i]);
    ASSERT_EQ(text(table.lookup(probes[i])), text(expected)) << "address " << probes[i];
    ASSERT_EQ(text(hops[i] == 0 ? std::nullopt : Answer(table.image().hops[hops[i]])), text(expected)) << probes[i];
  }
  ASSERT_EQ(table.size(), oracle.routes.size());
  std::array<size_t, 33> histogram{};
  for (const Route& route : oracle.routes) ++histogram[route.length];
  ASSERT_EQ(table.histogram(), histogram);
}

unsigned seed() {
  static const unsigned value = std::getenv("HEDDLE_TEST_SEED") ? std::atoi(std::getenv("HEDDLE_TEST_SEED")) : 20140513;
  std::printf("seed %u (HEDDLE_TEST_SEED sets it)\n", value);
  return value;
}

std::string error_of(const auto& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(DirectTable, EmptyTableHasNoRoutes) {
  const DirectTable table;
  EXPECT_EQ(table.lookup(0), std::nullopt);
  EXPECT_EQ(table.lookup(0xffffffff), std::nullopt);
  table.lookup_bulk(nullptr, nullptr, 0);
  EXPECT_EQ(table.size() + table.blocks_used() + table.hops_used(), 0u);
}

TEST(DirectTable, LongestPrefixWinsAndRemovalFallsBack) {
  DirectTable table;
  const std::pair<uint32_t, uint8_t> nest[] = {
      {0, 0}, {ip(192, 0, 0, 0), 8}, {ip(192, 0, 2, 0), 24}, {ip(192, 0, 2, 0), 25}, {ip(192, 0, 2, 7), 32}};
  for (const auto& [address, length] : nest) table.add({address, length, {0, length}});
  const auto port = [&](uint32_t address) { return table.lookup(address)->port; };
  EXPECT_EQ(port(ip(192, 0, 2, 7)), 32u);
  EXPECT_EQ(port(ip(192, 0, 2, 8)), 25u);
  EXPECT_EQ(port(ip(192, 0, 2, 127)), 25u);
  EXPECT_EQ(port(ip(192, 0, 2, 128)), 24u);
  EXPECT_EQ(port(ip(192, 0, 3, 0)), 8u);
  EXPECT_EQ(port(ip(193, 0, 0, 0)), 0u);
  EXPECT_EQ(table.blocks_used(), 1u);

  EXPECT_TRUE(table.remove(ip(192, 0, 2, 0), 24));
  EXPECT_FALSE(table.remove(ip(192, 0, 2, 0), 24));
  EXPECT_FALSE(table.remove(ip(192, 0, 2, 0), 200));
  EXPECT_EQ(port(ip(192, 0, 2, 128)), 8u);
  EXPECT_TRUE(table.remove(ip(192, 0, 2, 7), 32));
  EXPECT_EQ(port(ip(192, 0, 2, 7)), 25u);
  EXPECT_TRUE(table.remove(ip(192, 0, 2, 0), 25));
  EXPECT_EQ(port(ip(192, 0, 2, 7)), 8u);
  EXPECT_EQ(table.blocks_used(), 0u);
  EXPECT_TRUE(table.remove(0, 0));
  EXPECT_EQ(table.lookup(ip(193, 0, 0, 0)), std::nullopt);
  EXPECT_EQ(port(ip(192, 255, 255, 255)), 8u);
}

TEST(DirectTable, RefusesWhatIsNoPrefix) {
  DirectTable table;
  EXPECT_EQ(error_of([&] {
              table.add({ip(10, 0, 0, 1), 8, {}});
            }),
            "10.0.0.1/8 has bits set after its length: 10.0.0.0/8 would be right");
  EXPECT_EQ(error_of([&] { table.add({0, 33, {}}); }), "0.0.0.0/33 is not an IPv4 prefix: the length must be 0 to 32");
  EXPECT_NE(error_of([&] { table.load({{0, 0, {}}, {1, 31, {}}}); }), "");
  EXPECT_EQ(table.size(), 0u);
  table.add(normalised({ip(10, 0, 0, 1), 8, {0, 5}}));
  EXPECT_EQ(table.lookup(ip(10, 9, 9, 9)), (Hop{0, 5}));
}

TEST(DirectTable, RandomTablesAgreeWithLinearScan) {
  Random random(seed());
  for (int round = 0; round < 12; ++round) {
    DirectTable table, loaded;
    Oracle oracle;
    std::vector<Route> routes(20 << (round % 5));
    for (Route& route : routes) {
      route = random_route(random);
      table.add(route);
      oracle.add(route);
    }
    const size_t superseded = loaded.load(routes);
    EXPECT_EQ(superseded, routes.size() - oracle.routes.size());
    const std::vector<uint32_t> probes = boundaries(oracle.routes, random);
    ASSERT_NO_FATAL_FAILURE(expect_agreement(table, oracle, probes));
    ASSERT_NO_FATAL_FAILURE(expect_agreement(loaded, oracle, probes));
    EXPECT_EQ(loaded.blocks_used(), table.blocks_used());
    EXPECT_EQ(loaded.hops_used(), table.hops_used());
    loaded.load({});
    EXPECT_EQ(loaded.lookup(oracle.routes[0].address), std::nullopt);
    EXPECT_EQ(loaded.size() + loaded.blocks_used() + loaded.hops_used(), 0u);
  }
}

/** Each update, patch by patch, on a copy of the image: no address answers anything but its old or its new hop, those
 *  outside the prefix never change, and in the end the copy is the image. */
TEST(DirectTable, EveryPatchLeavesACorrectTable) {
  Random random(seed());
  DirectTable table;
  Oracle before, after;
  const auto copy = std::make_unique<DirectImage>();
  std::memcpy(static_cast<void*>(copy.get()), &table.image(), sizeof(DirectImage));  // as a copy on a GPU begins
  std::vector<uint32_t> probes;
  Route change{};
  size_t patches = 0;
  table.set_patch_sink([&](size_t offset, std::span<const std::byte> bytes) {
    ASSERT_LE(offset + bytes.size(), sizeof(DirectImage));
    std::memcpy(reinterpret_cast<std::byte*>(copy.get()) + offset, bytes.data(), bytes.size());
    ++patches;
    for (const uint32_t address : probes) {
      const Answer now = lookup_in(*copy, address), old = before.lookup(address);
      if (now == old) continue;
      ASSERT_TRUE(Oracle::covers(change, address)) << "address " << address << " is outside the changed prefix";
      ASSERT_EQ(text(now), text(after.lookup(address))) << "address " << address;
    }
  });
  for (int step = 0; step < 1500; ++step) {
    const bool removal = !after.routes.empty() && random() % 64 < after.routes.size();
    change = removal ? after.routes[random() % after.routes.size()] : random_route(random);
    removal ? (void)after.remove(change.address, change.length) : after.add(change);
    probes = boundaries({change}, random);
    for (int i = 0; i < 30; ++i) probes.push_back(random_route(random).address);
    if (removal) {
      ASSERT_TRUE(table.remove(change.address, change.length));
    } else {
      table.add(change);
    }
    if (HasFatalFailure()) FAIL() << "step " << step;
    before = after;
    probes = boundaries(after.routes, random);
    ASSERT_NO_FATAL_FAILURE(expect_agreement(table, after, probes)) << "step " << step;
    for (const uint32_t address : probes) ASSERT_EQ(lookup_in(*copy, address), after.lookup(address)) << address;
    if (step % 8 == 0) table.reclaim();
  }
  EXPECT_EQ(std::memcmp(copy.get(), &table.image(), sizeof(DirectImage)), 0);
  EXPECT_GT(patches, 1500u);

  table.load(after.routes);
  EXPECT_EQ(std::memcmp(copy.get(), &table.image(), sizeof(DirectImage)), 0);
}

/** A reader beside the writer: each answer is the oracle's at some moment between just before and just after the read.
 */
TEST(DirectTable, ConcurrentReaderSeesOldOrNew) {
  Random random(seed());
  constexpr int kSteps = 5000, kProbes = 48;
  struct Step {
    bool removal;
    Route route;
  };
  std::vector<Step> script;
  std::vector<uint32_t> probes(kProbes);
  for (uint32_t& address : probes) address = random_route(random).address | random() % 4;
  std::vector<std::vector<Answer>> expected(1, std::vector<Answer>(kProbes));
  for (Oracle oracle; script.size() < kSteps;) {
    const bool removal = !oracle.routes.empty() && random() % 32 < oracle.routes.size();
    const Route route = removal ? oracle.routes[random() % oracle.routes.size()] : random_route(random, 500);
    if (route.length < 12) continue;  // thousands of quick updates rather than a few long ones
    removal ? (void)oracle.remove(route.address, route.length) : oracle.add(route);
    script.push_back({removal, route});
    std::vector<Answer>& answers = expected.emplace_back(kProbes);
    for (int i = 0; i < kProbes; ++i) answers[i] = oracle.lookup(probes[i]);
  }

  DirectTable table;
  std::atomic<size_t> started = 0, finished = 0, laps = 0, wrong = 0;
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    uint16_t hops[kProbes];
    for (; !stop; ++laps) {
      const size_t first = finished;
      table.lookup_bulk(probes.data(), hops, kProbes);
      Answer answers[kProbes];
      for (int i = 0; i < kProbes; ++i) {
        if (hops[i] != 0) answers[i] = table.image().hops[hops[i]];
      }
      const size_t last = started;
      for (int i = 0; i < kProbes; ++i) {
        bool seen = false;
        for (size_t k = first; k <= last; ++k) seen = seen || expected[k][i] == answers[i];
        if (!seen) ++wrong;
      }
    }
  });
  const auto wait_for_lap = [&](size_t enough) {
    while (laps < enough) std::this_thread::yield();
  };
  wait_for_lap(1);
  for (const Step& step : script) {
    ++started;
    if (step.removal) {
      table.remove(step.route.address, step.route.length);
    } else {
      table.add(step.route);
    }
    ++finished;
    if (started % 4 == 0) {  // reuse as soon as it is allowed
      const uint64_t mark = table.retired();
      wait_for_lap(laps + 2);
      table.reclaim(mark);
    }
  }
  stop = true;
  reader.join();
  std::printf("%zu reader laps over %d updates\n", laps.load(), kSteps);
  EXPECT_EQ(wrong, 0u);
}

TEST(DirectTable, GroupsRunOut) {
  DirectTable table;
  std::vector<Route> routes;
  for (uint32_t i = 0; i < kGroups; ++i) routes.push_back({i << 8, 32, {0, 1}});
  for (const Route& route : routes) table.add(route);
  const Route extra = {kGroups << 8, 25, {0, 2}};
  EXPECT_EQ(error_of([&] { table.add(extra); }),
            "the route table needs room for 16385 /24 networks with routes longer than /24 but has it for 16384");
  EXPECT_EQ(table.size(), kGroups);
  EXPECT_EQ(table.hops_used(), 1u);
  EXPECT_EQ(table.lookup(extra.address), std::nullopt);
  table.add({1, 32, {0, 3}});  // in a /24 that has its group
  table.add({kGroups << 8, 24, {0, 3}});

  ASSERT_TRUE(table.remove(5 << 8, 32));
  EXPECT_EQ(error_of([&] { table.add(extra); }),
            "the route table needs room for 16385 /24 networks with routes longer than /24 but has it for 16384; "
            "1 of them are retired: reclaim() them, then try again");
  table.reclaim();
  table.add(extra);
  EXPECT_EQ(table.lookup(extra.address)->port, 2u);
  EXPECT_EQ(table.lookup(extra.address + 128)->port, 3u);
  EXPECT_EQ(table.lookup(5 << 8), std::nullopt);
  EXPECT_EQ(table.blocks_used(), kGroups);

  routes.push_back(extra);
  routes.push_back({(kGroups + 1) << 8, 32, {0, 2}});
  EXPECT_EQ(error_of([&] { table.load(routes); }),
            "the route table needs room for 16386 /24 networks with routes longer than /24 but has it for 16384");
  EXPECT_EQ(table.lookup(extra.address)->port, 2u) << "a failed load leaves the table";
}

/** replace() makes the table that load() makes, by patches alone, and on the way each address has its old answer or its
 *  new one. */
TEST(DirectTable, ReplaceGivesOldAnswersOrNewOnes) {
  Random random(seed());
  std::vector<Route> routes(400), others(400);
  for (Route& route : routes) route = random_route(random);
  for (Route& route : others) route = random_route(random);
  std::copy(routes.begin(), routes.begin() + 200, others.begin());
  for (size_t i = 0; i < 100; ++i) others[i].hop = {7, 9};
  DirectTable table, expected;
  table.load(routes);
  expected.load(others);
  std::vector<uint32_t> probes;
  for (const auto* list : {&routes, &others})
    for (const Route& route : *list)
      for (const uint32_t address : {route.address, route.address | ~prefix_mask(route.length), route.address - 1})
        probes.push_back(address);
  std::vector<Answer> old;
  for (const uint32_t address : probes) old.push_back(table.lookup(address));
  size_t patches = 0;
  table.set_patch_sink([&](size_t, std::span<const std::byte>) {
    ++patches;
    for (size_t i = 0; i < probes.size(); ++i) {
      const Answer now = table.lookup(probes[i]);
      ASSERT_TRUE(now == old[i] || now == expected.lookup(probes[i])) << probes[i];
    }
  });
  table.replace(others);
  EXPECT_GT(patches, 0u);
  EXPECT_EQ(table.size(), expected.size());
  for (const uint32_t address : probes) EXPECT_EQ(table.lookup(address), expected.lookup(address)) << address;
}

// A table may come to another element, to which the engine does not prefetch.
TEST(DirectTable, LooksUpEarlyOnlyWhereItIsAskedEarly) {
  DirectTable table;
  table.add({ip(10, 0, 0, 0), 8, {0, 1}});
  for (const bool early : {true, false, true, false}) {
    table.choose_form_again(early);
    EXPECT_EQ(std::ranges::count(direct_forms(early), std::string_view(table.form()), &DirectForm::name), 1) << early;
    EXPECT_FALSE(table.looks_up_early() && !early);
  }
}

TEST(DirectTable, HopsRunOut) {
  DirectTable table;
  std::vector<Route> routes;
  for (uint32_t i = kPlainHops; i < kHops - 1; ++i) routes.push_back({i << 8, 24, {0, i}});
  for (const Route& route : routes) table.add(route);
  EXPECT_EQ(table.hops_used(), kHops - 1 - kPlainHops);
  const Route extra = {0, 32, {1, 1}};
  const std::string error =
      "the route table needs room for 48896 distinct next hops with gateways or high outputs but has it for 48895";
  EXPECT_EQ(error_of([&] { table.add(extra); }), error);
  EXPECT_EQ(table.blocks_used(), 0u);
  EXPECT_EQ(table.lookup(0), std::nullopt);
  table.add({0, 32, {0, 777}});  // a known hop
  EXPECT_EQ(table.lookup(0)->port, 777u);
  table.add({0, 32, {0, 77}});  // a plain one
  EXPECT_EQ(table.lookup(0)->port, 77u);

  ASSERT_TRUE(table.remove(500 << 8, 24));
  EXPECT_EQ(error_of([&] { table.add(extra); }), error + "; 1 of them are retired: reclaim() them, then try again");
  table.reclaim(table.retired() - 1);
  EXPECT_NE(error_of([&] { table.add(extra); }), "");
  table.reclaim(table.retired());
  table.add(extra);
  EXPECT_EQ(table.lookup(0), (Hop{1, 1}));
  EXPECT_EQ(table.lookup(501 << 8)->port, 501u);

  routes.push_back(extra);
  EXPECT_EQ(error_of([&] { table.load(routes); }), error);
  routes[3].hop = routes[4].hop;
  EXPECT_EQ(table.load(routes), 0u);
  EXPECT_EQ(table.lookup(0), (Hop{1, 1}));
}

}  // namespace
}  // namespace heddle::ip_lookup
