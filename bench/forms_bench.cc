// lookup-forms: the ways in which tables can be searched on the CPU, each against the one that is used where nothing
// has been measured, on one core; in a table that lies in the caches, and in what is larger.

#include <algorithm>
#include <cstring>
#include <random>

#include "bench/bench.h"
#include "bench/route_tables.h"
#include "core/cores.h"
#include "core/error.h"
#include "core/huge_pages.h"
#include "functions/cuckoo/table.h"
#include "functions/ip6_lookup/table.h"
#include "functions/ip_lookup/direct_table.h"
#include "measure/generate/routes.h"

namespace heddle::bench {
namespace {

constexpr size_t kLookups = 1 << 20, kBulk = 64;
constexpr int kRounds = 11;

/** forms[k] against forms[0]; `look_up(form, at)` is to look up batch `at` of kBulk. */
template <class Form, class LookUp>
std::vector<Result> compare(const std::string& name, std::span<const Form> forms, const std::string& note,
                            const LookUp& look_up) {
  const auto rate = [&](const Form& form) {
    const double start = cpu_seconds();
    for (size_t at = 0; at < kLookups; at += kBulk) look_up(form, at);
    return kLookups / (cpu_seconds() - start) * 1e-6;
  };
  std::vector<Result> results;
  for (const Form& form : forms.subspan(1)) {
    results.push_back(paired(
        name, "M/s", 0, kRounds, [&] { return rate(form); }, [&] { return rate(forms[0]); }));
    results.back().note = format("%s; baseline: %s; %s", form.name, forms[0].name, note.c_str());
  }
  return results;
}

std::vector<Result> cuckoo_forms(const char* name, size_t count) {
  using namespace cuckoo;
  CuckooTable table;
  table.reset(count, 7);
  std::mt19937_64 random(3);
  std::vector<uint64_t> all;
  {
    CuckooTable::Writer writer(table);
    while (all.size() < count) {
      const uint64_t key = random() & kKeyMask;
      if (!writer.set(hash_of(table.image(), key), key, 1)) throw Error("the table has no room");
      all.push_back(key);
    }
  }
  std::vector<uint64_t> keys(kLookups), words(kBulk);
  std::vector<uint32_t> hashes(kLookups);
  std::vector<Result> results;
  for (const bool there : {true, false}) {
    for (size_t i = 0; i < kLookups; ++i) {
      keys[i] = there ? all[random() % count] : random() & kKeyMask;
      hashes[i] = hash_of(table.image(), keys[i]);
    }
    const auto more = compare(
        there ? name : std::string(name) + "-misses", forms(),
        format("%.0f MB", static_cast<double>(table.bytes().size()) / 1e6),
        [&](const Form& form, size_t at) { table.lookup_bulk(form, &hashes[at], &keys[at], words.data(), kBulk); });
    results.insert(results.end(), more.begin(), more.end());
  }
  table.choose_form();
  results.back().note += std::string("; chosen at start: ") + table.form().name;
  return results;
}

std::vector<Result> direct_forms_in(const std::string& name, size_t count) {
  using namespace ip_lookup;
  const std::vector<Route> routes = bgp_like_routes(1'000'000, 64, 1);
  DirectTable table;
  table.load(routes);
  std::vector<HugePages> copies;
  std::vector<const DirectImage*> images{&table.image()};
  for (size_t k = 1; k < count; ++k) {
    copies.push_back(map_huge_pages(sizeof(DirectImage) + 64));
    std::memcpy(copies.back().get(), &table.image(), sizeof(DirectImage));
    images.push_back(reinterpret_cast<const DirectImage*>(copies.back().get()));
  }
  std::mt19937 random(2);
  std::vector<uint32_t> addresses(kLookups);
  std::vector<uint16_t> hops(kBulk);
  for (uint32_t& address : addresses) {
    const Route& route = routes[random() % routes.size()];
    address = route.address | (static_cast<uint32_t>(random()) & ~prefix_mask(route.length));
  }
  const auto image_of = [&](size_t at) -> const DirectImage& { return *images[at / kBulk % count]; };
  auto results = compare(name, direct_forms(true), format("%zu tables of 40 MB, addresses in routes", count),
                         [&](const DirectForm& form, size_t at) {
                           // A batch ahead: the look-ups of one are the work between.
                           for (size_t i = at + kBulk; form.early && i < std::min(at + 2 * kBulk, kLookups); ++i)
                             direct_prefetch(image_of(at + kBulk), addresses[i]);
                           form.look_up(image_of(at), &addresses[at], hops.data(), kBulk);
                         });
  for (const bool early : {false, true}) {
    table.choose_form(early);
    results.back().note += format("; chosen at start%s: %s", early ? " behind other elements" : "", table.form());
  }
  return results;
}

/** Also as the rule is written, address after address. */
std::vector<Result> ip6_forms_in(const std::string& name, size_t count, size_t tables,
                                 ip6_lookup::EngineKind engine = ip6_lookup::EngineKind::tree) {
  using namespace ip6_lookup;
  std::mt19937_64 random(2);
  std::vector<Route> routes;
  for (const bench::Prefix& prefix : generate_prefixes(real_profile(Family::ipv6), count, 6))
    routes.push_back({{{static_cast<uint64_t>(prefix.address >> 64), static_cast<uint64_t>(prefix.address)},
                       static_cast<uint8_t>(prefix.length)},
                      {{}, static_cast<uint32_t>(random() % 64)}});
  RouteTable table(engine);
  table.load(routes);
  std::vector<HugePages> copies;
  std::vector<const Image*> images{&table.image()};
  for (size_t k = 1; k < tables; ++k) {
    copies.push_back(map_huge_pages(table.bytes().size()));
    std::memcpy(copies.back().get(), table.bytes().data(), table.bytes().size());
    images.push_back(reinterpret_cast<const Image*>(copies.back().get()));
  }
  std::vector<uint64_t> halves;
  for (size_t i = 0; i < kLookups; ++i) {
    const ip6_lookup::Prefix& prefix = routes[random() % routes.size()].prefix;
    const auto mask = prefix_mask(prefix.length);
    halves.push_back(__builtin_bswap64(prefix.address.high | (random() & ~mask.high)));
    halves.push_back(__builtin_bswap64(prefix.address.low | (random() & ~mask.low)));
  }
  const auto* addresses = reinterpret_cast<const uint8_t(*)[16]>(halves.data());
  std::vector<Form> all(forms(engine).begin(), forms(engine).end());
  all.push_back({"as written", [](const Image* image, const uint8_t(*at)[16], uint16_t* hops, int n) {
                   for (int i = 0; i < n; ++i) {
                     uint64_t half[2];
                     std::memcpy(half, at[i], sizeof half);
                     hops[i] = lookup(*image, __builtin_bswap64(half[0]), __builtin_bswap64(half[1]));
                   }
                 }});
  std::vector<uint16_t> hops(kBulk);
  auto results = compare(
      name, std::span<const Form>(all),
      format("%zu tables of %.1f MB, addresses in routes", tables, static_cast<double>(table.bytes_used()) / 1e6),
      [&](const Form& form, size_t at) {
        form.look_up(images[at / kBulk % tables], &addresses[at], hops.data(), kBulk);
      });
  table.choose_form();
  results.back().note += std::string("; chosen at start: ") + table.form();
  return results;
}

const Register lookup_forms("lookup-forms", false, [] {
  pin_to_core(0);
  std::vector<Result> results;
  for (const auto& some :
       {cuckoo_forms("cuckoo-64k", 65'536), cuckoo_forms("cuckoo-10m", 10'000'000), direct_forms_in("dir24", 1),
        direct_forms_in("dir24x32", 32), ip6_forms_in("ip6-200k", 200'000, 1), ip6_forms_in("ip6-1m", 1'000'000, 1),
        ip6_forms_in("ip6-1mx24", 1'000'000, 24),
        ip6_forms_in("ip6-trie-200k", 200'000, 1, ip6_lookup::EngineKind::trie)})
    results.insert(results.end(), some.begin(), some.end());
  return results;
});

}  // namespace
}  // namespace heddle::bench
