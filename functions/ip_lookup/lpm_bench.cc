// lpm and radix: lookup_bulk() of the direct and the radix table against DPDK's rte_lpm_lookup_bulk() on the same
// routes and addresses, in memory of the same kind (2 MB pages where the system gives them), on one core. rte_lpm's
// table is filled entry by entry from ours, because rte_lpm_add takes half a minute for as many routes; samples are
// compared with what rte_lpm_lookup answers.

#include <rte_lpm.h>

#include <cstring>
#include <random>

#include "bench/bench.h"
#include "bench/route_tables.h"
#include "core/cores.h"
#include "core/error.h"
#include "core/huge_pages.h"
#include "functions/ip_lookup/direct_table.h"
#include "functions/ip_lookup/radix_table.h"

namespace heddle::bench {
namespace {

using namespace ip_lookup;

constexpr int kAddresses = 1 << 20, kBulk = 256, kRounds = 21;

rte_lpm_tbl_entry entry_of(const DirectImage& image, uint16_t value, bool in_group) {
  rte_lpm_tbl_entry entry{};
  entry.valid_group = in_group;
  if (!in_group && value >= kFirstGroup) {
    entry.valid = entry.valid_group = 1;
    entry.next_hop = static_cast<uint32_t>(value - kFirstGroup) & 0xffffff;
  } else if (value != 0) {
    entry.valid = 1;
    entry.next_hop = image.hops[value].port & 0xffffff;
  }
  return entry;
}

/** An rte_lpm in memory of the same kind. */
struct Lpm {
  HugePages table = map_huge_pages(sizeof(rte_lpm));
  HugePages tbl8 = map_huge_pages(sizeof(rte_lpm_tbl_entry) * kGroups * kGroupEntries);
  rte_lpm* get() const { return reinterpret_cast<rte_lpm*>(table.get()); }
};

Lpm same_table(const DirectTable& table) {
  const DirectImage& image = table.image();
  Lpm same;
  rte_lpm* lpm = same.get();
  lpm->tbl8 = reinterpret_cast<rte_lpm_tbl_entry*>(same.tbl8.get());
  for (size_t i = 0; i < 1 << 24; ++i) lpm->tbl24[i] = entry_of(image, image.tbl24[i], false);
  for (size_t i = 0; i < kGroups * size_t{kGroupEntries}; ++i)
    lpm->tbl8[i] = entry_of(image, image.tbl8[i / kGroupEntries][i % kGroupEntries], true);
  return same;
}

/** `ours` against rte_lpm with the same routes: random addresses, then addresses within routes. */
std::vector<Result> against_rte_lpm(const std::string& name, double target, const std::vector<Route>& routes,
                                    RouteTable& ours) {
  pin_to_core(0);
  ours.load(routes);
  const Lpm same = [&] {
    DirectTable table;
    table.load(routes);
    return same_table(table);
  }();
  rte_lpm* const lpm = same.get();
  std::mt19937 random(2);
  std::vector<Result> results;
  for (const bool inside : {false, true}) {
    std::vector<uint32_t> addresses(kAddresses);
    for (auto& address : addresses) {
      const Route& route = routes[random() % routes.size()];
      address = static_cast<uint32_t>(random());
      if (inside) address = route.address | (address & ~prefix_mask(route.length));
    }
    for (int i = 0; i < kAddresses; i += 97) {
      uint32_t theirs = 0;
      const bool found = rte_lpm_lookup(lpm, addresses[i], &theirs) == 0;
      const auto hop = ours.lookup(addresses[i]);
      if (found != hop.has_value() || (found && (theirs & 0xffffff) != hop->port))
        throw Error("rte_lpm answers differently");
    }
    std::vector<uint16_t> hops(kAddresses);
    std::vector<uint32_t> their_hops(kAddresses);
    auto rate = [](double start) { return kAddresses / (seconds_now() - start) * 1e-6; };
    results.push_back(paired(
        inside ? name + "-in-routes" : name, "Mlps", target, kRounds,
        [&] {
          const double start = seconds_now();
          for (int i = 0; i < kAddresses; i += kBulk) ours.lookup_bulk(&addresses[i], &hops[i], kBulk);
          return rate(start);
        },
        [&] {
          const double start = seconds_now();
          for (int i = 0; i < kAddresses; i += kBulk) rte_lpm_lookup_bulk(lpm, &addresses[i], &their_hops[i], kBulk);
          return rate(start);
        }));
    results.back().note = format("baseline: rte_lpm_lookup_bulk, %zu routes", routes.size());
  }
  return results;
}

const Register lpm("lpm", false, [] {
  DirectTable table;
  return against_rte_lpm("lpm", 1.0, bgp_like_routes(1000000, 64, 1), table);
});
const Register radix("radix", false, [] {
  RadixTable table;
  return against_rte_lpm("radix", 0.25, bgp_like_routes(520000, 64, 1), table);
});

}  // namespace
}  // namespace heddle::bench
