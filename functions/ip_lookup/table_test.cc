// All route tables against a list of routes that is searched from end to end and shares nothing with them.

#include "functions/ip_lookup/table.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

#include "core/error.h"
#include "functions/ip_lookup/direct_table.h"
#include "functions/ip_lookup/linear_table.h"
#include "functions/ip_lookup/oracle_for_test.h"
#include "functions/ip_lookup/radix_table.h"

namespace heddle::ip_lookup {
namespace {

/** One of the three, and how a reader of a copy of its image sees it. */
struct Kind {
  const char* name;
  std::unique_ptr<RouteTable> (*make)();
  uint16_t (*hop)(const std::byte* image, uint32_t address);
};
template <class Table, class Image>
constexpr Kind kind(const char* name) {
  return {
      name, []() -> std::unique_ptr<RouteTable> { return std::make_unique<Table>(); },
      [](const std::byte* image, uint32_t address) { return hop_of(*reinterpret_cast<const Image*>(image), address); }};
}
const Kind kKinds[] = {kind<DirectTable, DirectImage>("direct"), kind<RadixTable, RadixImage>("radix"),
                       kind<LinearTable, LinearImage>("linear")};

class TableTest : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(All, TableTest, testing::ValuesIn(kKinds), [](const auto& info) { return info.param.name; });

/** A change as a test makes it. */
struct Step {
  enum What { kAdd, kRemove, kChange, kReclaim, kLoad } what;
  std::vector<Route> routes;
};

rc::Gen<Route> any_route() {
  // Few bits vary, so that prefixes nest, repeat and share nodes; all lengths, short ones rarely: they cost much.
  return rc::gen::apply(
      [](uint32_t a, uint32_t b, uint8_t length, uint32_t hop) {
        const uint32_t address = 0x0a000000 | (a & 1) << 23 | (a >> 1 & 3) << 14 | (a >> 3 & 3) << 8 | (b & 255);
        return normalised({address, length, {hop % 3 == 0 ? hop : 0, hop % 7 == 0 ? hop + 1000 : hop}});
      },
      rc::gen::arbitrary<uint32_t>(), rc::gen::arbitrary<uint32_t>(),
      rc::gen::weightedOneOf<uint8_t>({{1, rc::gen::inRange<uint8_t>(0, 9)},
                                       {20, rc::gen::inRange<uint8_t>(9, 33)},
                                       {3, rc::gen::element<uint8_t>(0, 16, 20, 24, 28, 32)}}),
      rc::gen::inRange<uint32_t>(0, 20));
}

rc::Gen<Step> any_step() {
  const auto routes = [](size_t count) { return rc::gen::container<std::vector<Route>>(count, any_route()); };
  const auto make = [](Step::What what) {
    return [what](std::vector<Route> list) { return Step{what, std::move(list)}; };
  };
  return rc::gen::weightedOneOf<Step>({{12, rc::gen::map(routes(1), make(Step::kAdd))},
                                       {6, rc::gen::map(routes(1), make(Step::kRemove))},
                                       {3, rc::gen::map(routes(6), make(Step::kChange))},
                                       {2, rc::gen::map(routes(0), make(Step::kReclaim))},
                                       {1, rc::gen::map(routes(30), make(Step::kLoad))}});
}

}  // namespace

void showValue(const Route& route, std::ostream& out) {
  out << format("%08x/%u -> %08x:%u", route.address, route.length, route.hop.gateway, route.hop.port);
}

namespace {

void showValue(const Step& step, std::ostream& out) {
  out << "step " << step.what << " ";
  rc::show(step.routes, out);
}

std::vector<uint32_t> probes(const std::vector<Route>& routes) {
  std::vector<uint32_t> probes = {0, 0x7fffffff, 0xffffffff, 0x0a000000};
  for (const Route& route : routes) {
    const uint32_t last = route.address | ~prefix_mask(route.length);
    for (const uint32_t edge : {route.address, last}) probes.insert(probes.end(), {edge - 1, edge, edge + 1});
  }
  return probes;
}

/** Applies a step to the table and the oracle. */
void apply(const Step& step, RouteTable& table, Oracle& oracle) {
  switch (step.what) {
    case Step::kAdd:
      table.add(step.routes[0]);
      oracle.add(step.routes[0]);
      break;
    case Step::kRemove: {
      // What is there, more often than not.
      Route route = step.routes[0];
      if (!oracle.routes.empty() && route.hop.port % 4 != 0)
        route = oracle.routes[route.address % oracle.routes.size()];
      RC_ASSERT(table.remove(route.address, route.length) == oracle.remove(route.address, route.length));
      break;
    }
    case Step::kChange: {
      std::vector<Route> set, gone;
      for (const Route& route : step.routes) {
        if (std::ranges::any_of(set, [&](auto& r) { return r.address == route.address && r.length == route.length; }) ||
            std::ranges::any_of(gone, [&](auto& r) { return r.address == route.address && r.length == route.length; }))
          continue;
        (route.hop.port % 2 == 0 ? set : gone).push_back(route);
      }
      table.change(set, gone);
      for (const Route& route : set) oracle.add(route);
      for (const Route& route : gone) oracle.remove(route.address, route.length);
      break;
    }
    case Step::kReclaim:
      table.reclaim();
      break;
    case Step::kLoad:
      table.load(step.routes);
      oracle.routes.clear();
      for (const Route& route : step.routes) oracle.add(route);
  }
}

/** After every step: the table and a copy made of patches answer as the oracle does. On the way, after every patch, the
 *  copy gives each address its old or its new answer. */
TEST_P(TableTest, AnswersAsALinearSearchDoes) {
  const auto image_size = GetParam().make()->bytes().size();
  const bool held = rc::check([&] {
    const auto steps = *rc::gen::container<std::vector<Step>>(any_step());
    const auto table = GetParam().make();
    // Read in place, patch by patch: what differs from a copy is only what has not been reported yet.
    const HugePages copy = map_huge_pages(image_size);
    std::memcpy(copy.get(), table->hops(), kHops * sizeof(Hop));
    const auto answer = [&](uint32_t address) {
      const uint16_t hop = GetParam().hop(copy.get(), address);
      return hop == 0 ? std::nullopt : Answer(reinterpret_cast<const Hop*>(copy.get())[hop]);
    };
    Oracle oracle;
    for (const Step& step : steps) {
      Oracle before = oracle;
      std::vector<uint32_t> near = probes(step.routes);
      std::vector<std::pair<uint32_t, Answer>> seen;  // answers of the copy on the way
      table->set_patch_sink([&](size_t offset, std::span<const std::byte> bytes) {
        std::memcpy(copy.get() + offset, bytes.data(), bytes.size());
        for (const uint32_t address : near) seen.emplace_back(address, answer(address));
      });
      apply(step, *table, oracle);
      for (const auto& [address, got] : seen)
        if (step.what != Step::kLoad) RC_ASSERT(got == before.lookup(address) || got == oracle.lookup(address));

      const std::vector<uint32_t> all = probes(oracle.routes);
      std::vector<uint16_t> hops(all.size());
      table->lookup_bulk(all.data(), hops.data(), static_cast<int>(all.size()));
      for (size_t i = 0; i < all.size(); ++i) {
        const Answer expected = oracle.lookup(all[i]);
        RC_ASSERT((hops[i] == 0 ? std::nullopt : Answer(table->hops()[hops[i]])) == expected);
        RC_ASSERT(answer(all[i]) == expected);
      }
      RC_ASSERT(table->size() == oracle.routes.size());
      for (const Route& route : oracle.routes) RC_ASSERT(table->find(route.address, route.length) == route.hop);
    }
    auto sorted = oracle.routes;
    std::ranges::sort(sorted, {}, [](const Route& r) { return uint64_t{r.address} << 8 | r.length; });
    RC_ASSERT(table->routes() == sorted);
    table->set_patch_sink([&](size_t offset, std::span<const std::byte> bytes) {
      std::memcpy(copy.get() + offset, bytes.data(), bytes.size());
    });
    table->replace({});
    table->reclaim();
    RC_ASSERT(table->size() + table->blocks_used() + table->hops_used() == 0u);
    for (const uint32_t address : probes(oracle.routes)) RC_ASSERT(answer(address) == std::nullopt);
  });
  EXPECT_TRUE(held);
}

/** A reader beside the writer: each answer is the oracle's at some moment between just before and just after the
 *  read. */
TEST_P(TableTest, ConcurrentReaderSeesOldOrNew) {
  constexpr int kSteps = 4000, kProbes = 48;
  std::mt19937 random(5);
  const auto random_route = [&](uint32_t hops) {
    const auto length = static_cast<uint8_t>(12 + random() % 21);
    const uint32_t hop = random() % hops;
    const auto address =
        static_cast<uint32_t>(0x0a000000 | (random() % 2) << 16 | (random() % 4) << 8 | random() % 256);
    return normalised({address, length, {hop % 3 == 0 ? hop : 0, hop}});
  };
  std::vector<uint32_t> addresses(kProbes);
  for (uint32_t& address : addresses) address = random_route(1).address | random() % 4;
  struct Update {
    bool removal;
    Route route;
  };
  std::vector<Update> script;
  std::vector<std::vector<Answer>> expected(1, std::vector<Answer>(kProbes));
  for (Oracle oracle; script.size() < kSteps;) {
    const bool removal = !oracle.routes.empty() && random() % 32 < oracle.routes.size();
    const Route route = removal ? oracle.routes[random() % oracle.routes.size()] : random_route(500);
    removal ? (void)oracle.remove(route.address, route.length) : oracle.add(route);
    script.push_back({removal, route});
    auto& answers = expected.emplace_back(kProbes);
    for (int i = 0; i < kProbes; ++i)
      answers[static_cast<size_t>(i)] = oracle.lookup(addresses[static_cast<size_t>(i)]);
  }

  const auto table = GetParam().make();
  std::atomic<size_t> started = 0, finished = 0, laps = 0, wrong = 0;
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    uint16_t hops[kProbes];
    for (; !stop; ++laps) {
      const size_t first = finished;
      table->lookup_bulk(addresses.data(), hops, kProbes);
      Answer answers[kProbes];
      for (int i = 0; i < kProbes; ++i)
        if (hops[i] != 0) answers[i] = table->hops()[hops[i]];
      const size_t last = started;
      for (size_t i = 0; i < kProbes; ++i) {
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
  for (const Update& update : script) {
    ++started;
    if (update.removal)
      table->remove(update.route.address, update.route.length);
    else
      table->add(update.route);
    ++finished;
    if (started % 4 == 0) {  // reuse as soon as it is allowed
      const uint64_t mark = table->retired();
      wait_for_lap(laps + 2);
      table->reclaim(mark);
    }
  }
  stop = true;
  reader.join();
  EXPECT_EQ(wrong, 0u);
}

/** change() sets a hop that only the route which it replaces had before, with no free hop index left over. */
TEST_P(TableTest, ChangePassesAHopOn) {
  const auto table = GetParam().make();
  std::vector<Route> routes;
  for (uint32_t i = 0; i + 1 + kPlainHops < kHops; ++i) routes.push_back({i << 8, 24, {i + 1, 0}});
  table->load(routes);
  table->change({{0, 24, {0, 7}}, {1 << 8, 23 + 1, {1, 0}}}, {});
  EXPECT_EQ(table->lookup(0), (Hop{0, 7}));
  EXPECT_EQ(table->lookup(1 << 8), (Hop{1, 0}));
  EXPECT_THROW(table->change({{2 << 8, 24, {0, 8}}, {3 << 8, 24, {99999999, 0}}}, {}), Error);
  EXPECT_EQ(table->lookup(2 << 8), (Hop{3, 0})) << "an error leaves the table";
}

TEST(RadixTable, NodesRunOut) {
  RadixTable table;
  std::vector<Route> routes;
  for (uint32_t i = 0; i < kNodes / 2; ++i) routes.push_back({i << 12, 21, {0, 1}});
  table.load(routes);
  EXPECT_EQ(table.blocks_used(), kNodes / 2 + kNodes / 32);
  std::string error;
  for (uint32_t i = 0; i < kNodes && error.empty(); ++i) {
    try {
      table.add({i << 12 | 1 << 8, 32, {0, 2}});
    } catch (const Error& caught) {
      error = caught.what();
      EXPECT_EQ(table.lookup(i << 12 | 1 << 8), (Hop{0, 1})) << "an error leaves the table";
    }
  }
  EXPECT_EQ(error.substr(0, 37), "the route table needs room for 104857");
  EXPECT_EQ(table.lookup(1 << 8), (Hop{0, 2}));
}

TEST(LinearTable, GivesEmptyEntriesToLongerPrefixes) {
  LinearTable table;
  const auto count = [&] {
    return static_cast<uint32_t>(reinterpret_cast<const LinearImage*>(table.bytes().data())->state);
  };
  for (uint32_t i = 0; i < 100; ++i) table.add({i << 24, 8, {0, i}});
  for (uint32_t i = 0; i < 50; ++i) table.remove(i << 24, 8);
  EXPECT_EQ(count(), 100u);
  for (uint32_t i = 0; i < 50; ++i) table.add({i << 24, 24, {0, i}});
  EXPECT_EQ(count(), 100u);
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(table.lookup(i << 24), (Hop{0, i}));
  for (uint32_t i = 50; i < 100; ++i) table.remove(i << 24, 8);
  EXPECT_EQ(count(), 50u) << "nobody searches an empty end";
}

}  // namespace
}  // namespace heddle::ip_lookup
