#include "bench/gopt/kinds.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "bench/bench.h"
#include "bench/gopt/lookups.h"
#include "bench/gopt/prefixes.h"
#include "bench/route_tables.h"
#include "core/error.h"
#include "core/huge_pages.h"
#include "functions/ip6_lookup/table.h"
#include "functions/ip_lookup/direct_table.h"

namespace heddle::bench {
namespace {

constexpr size_t kBatch = 8192;

template <class Function>
using FormsOf = std::vector<std::pair<const char*, Function>>;

/** Keeps something as long as the kind. */
template <class T>
T& keep(LookupKind& kind, std::shared_ptr<T> thing) {
  kind.memory.push_back(thing);
  return *thing;
}
std::byte* keep(LookupKind& kind, HugePages pages) {
  return keep(kind, std::make_shared<HugePages>(std::move(pages))).get();
}

/** Adds a form; `run` is to leave the results of all keys in `found`, which must be `right`. */
template <class T>
void add(LookupKind& kind, const std::string& form, std::function<void(size_t)> run, std::vector<T>& found,
         const std::vector<T>& right) {
  std::fill(found.begin(), found.end(), T{});
  run(kind.lookups);
  if (found != right) throw Error(form + " gave a wrong result");
  kind.forms[form] = std::move(run);
}

}  // namespace

LookupKind chase_kind(int bits) {
  constexpr int kDepth = 100;
  LookupKind kind{format(", accesses, 100 for each lookup, in %.0f MB", 4e-6 * static_cast<double>(1u << bits)),
                  5,
                  kBatch,
                  kDepth,
                  {},
                  {}};
  auto* const table = reinterpret_cast<uint32_t*>(keep(kind, map_huge_pages(sizeof(uint32_t) << bits)));
  // x -> a * x + c runs through all of 0 .. 2^28 - 1 in one cycle; mixing its bits keeps it a permutation.
  for (uint32_t i = 0; i < 1u << bits; ++i) {
    uint32_t x = (i * 0x85ebca6bu + 0x9e3779b9u) & ((1u << bits) - 1);
    x = ((x ^ x >> 14) * 0xc2b2ae35u) & ((1u << bits) - 1);
    table[i] = x ^ x >> 14;
  }
  std::mt19937 random(1);
  std::vector<uint32_t> start(kBatch), right;
  for (uint32_t& element : start) element = static_cast<uint32_t>(random()) >> (32 - bits);
  right = start;
  chase(table, right.data(), kBatch, kDepth);
  // Each run goes on from where the one before it ended, so that no cache knows its way.
  auto& elements = keep(kind, std::make_shared<std::vector<uint32_t>>(start));
  for (const auto& [name, form] : FormsOf<decltype(&chase)>{{"as-written", chase},
                                                            {"gopt", chase_gopt},
                                                            {"group", chase_group},
                                                            {"coroutine", chase_coroutine},
                                                            {"by-hand", chase_by_hand}}) {
    std::vector<uint32_t> found = start;
    form(table, found.data(), kBatch, kDepth);
    if (found != right) throw Error(std::string(name) + " gave a wrong result");
    kind.forms[name] = [=, form = form, &elements](size_t n) {
      form(table, elements.data(), static_cast<int>(n), kDepth);
    };
  }
  return kind;
}

namespace {

bool put(cuckoo_bucket* buckets, uint32_t mask, uint32_t key, uint32_t value, std::mt19937& random) {
  for (int kicks = 0; kicks < 500; ++kicks) {
    cuckoo_bucket* two[] = {&buckets[cuckoo_hash(key, kCuckooFirst) & mask],
                            &buckets[cuckoo_hash(key, kCuckooSecond) & mask]};
    for (cuckoo_bucket* bucket : {two[random() & 1], two[0], two[1]})
      for (int slot = 0; slot < kCuckooSlots; ++slot) {
        if (bucket->values[slot] != 0) continue;
        bucket->keys[slot] = key, bucket->values[slot] = value;
        return true;
      }
    cuckoo_bucket* const bucket = two[random() & 1];
    const auto slot = random() % kCuckooSlots;
    std::swap(bucket->keys[slot], key), std::swap(bucket->values[slot], value);
  }
  return false;
}

/** Calls run(first, n) for batches. */
template <class Run>
std::function<void(size_t)> in_batches(const Run& run) {
  return [run](size_t n) {
    for (size_t first = 0; first < n; first += kBatch) run(first, static_cast<int>(std::min(kBatch, n - first)));
  };
}

}  // namespace

LookupKind cuckoo_kind() {
  constexpr uint32_t kBuckets = 1 << 23;
  constexpr size_t kKeys = 40000000;
  LookupKind kind{", 40,000,000 keys in 512 MiB, all lookups hit", 2.5, size_t{1} << 20, 1, {}, {}};
  auto* const buckets = reinterpret_cast<cuckoo_bucket*>(keep(kind, map_huge_pages(sizeof(cuckoo_bucket) * kBuckets)));
  const auto key_of = [](size_t i) { return static_cast<uint32_t>(i) * 0x9e3779b1u; };
  std::mt19937 random(1);
  for (size_t i = 0; i < kKeys; ++i)
    if (!put(buckets, kBuckets - 1, key_of(i), static_cast<uint32_t>(i + 1), random)) throw Error("the table is full");
  auto& keys = keep(kind, std::make_shared<std::vector<uint32_t>>(kind.lookups));
  auto& values = keep(kind, std::make_shared<std::vector<uint32_t>>(kind.lookups));
  std::vector<uint32_t> right(kind.lookups);
  for (size_t i = 0; i < kind.lookups; ++i) {
    const size_t key = random() % kKeys;
    keys[i] = key_of(key), right[i] = static_cast<uint32_t>(key + 1);
  }
  for (const auto& [name, form] : FormsOf<decltype(&cuckoo)>{
           {"as-written", cuckoo}, {"gopt", cuckoo_gopt}, {"coroutine", cuckoo_coroutine}, {"by-hand", cuckoo_by_hand}})
    add(kind, name, in_batches([=, form = form, &keys, &values](size_t at, int n) {
          form(buckets, kBuckets - 1, &keys[at], &values[at], n);
        }),
        values, right);
  return kind;
}

LookupKind dir24_kind(size_t count) {
  using namespace ip_lookup;
  LookupKind kind{count == 1 ? ", a table of 40 MiB, which may lie in the cache"
                             : format(", %zu tables, %.1f GiB", count,
                                      static_cast<double>(count * sizeof(DirectImage)) / (1 << 30)),
                  0,
                  size_t{1} << 20,
                  1,
                  {},
                  {}};
  const std::vector<Route> routes = bgp_like_routes(1000000, 64, 1);
  auto& tables = keep(kind, std::make_shared<std::vector<dir24_table>>());
  DirectTable table;
  table.load(routes);
  for (size_t i = 0; i < count; ++i) {
    std::byte* const copy = keep(kind, map_huge_pages(sizeof(DirectImage)));
    std::memcpy(copy, &table.image(), sizeof(DirectImage));
    const auto& image = *reinterpret_cast<const DirectImage*>(copy);
    tables.push_back({image.tbl24, image.tbl8[0]});
  }
  std::mt19937 random(2);
  auto& addresses = keep(kind, std::make_shared<std::vector<uint32_t>>(kind.lookups));
  auto& numbers = keep(kind, std::make_shared<std::vector<uint8_t>>(kind.lookups));
  auto& hops = keep(kind, std::make_shared<std::vector<uint16_t>>(kind.lookups));
  std::vector<uint16_t> right(kind.lookups);
  for (size_t i = 0; i < kind.lookups; ++i) {
    const Route& route = routes[random() % routes.size()];
    addresses[i] = route.address | (static_cast<uint32_t>(random()) & ~prefix_mask(route.length));
    numbers[i] = static_cast<uint8_t>(random() % count);
    right[i] = hop_of(table.image(), addresses[i]);
  }
  for (const auto& [name, form] : FormsOf<decltype(&dir24)>{{"as-written", dir24},
                                                            {"gopt", dir24_gopt},
                                                            {"group", dir24_group},
                                                            {"coroutine", dir24_coroutine},
                                                            {"by-hand", dir24_by_hand}})
    add(kind, name, in_batches([form = form, &tables, &numbers, &addresses, &hops](size_t at, int n) {
          form(tables.data(), &numbers[at], &addresses[at], &hops[at], n);
        }),
        hops, right);
  return kind;
}

LookupKind ip6_kind() {
  constexpr size_t kPrefixes = 200'000;
  LookupKind kind{"", 2, size_t{1} << 20, 1, {}, {}};
  const std::vector<ip6_lookup::Route> routes = random_prefixes(kPrefixes, 64, 3);
  auto& table = keep(kind, std::make_shared<ip6_lookup::RouteTable>(ip6_lookup::EngineKind::trie));
  table.load(routes);
  kind.note = format(", a trie of %zu random prefixes of 48 to 64 bits, %.0f MB", kPrefixes,
                     static_cast<double>(table.bytes_used()) / 1e6);
  using Address = std::array<uint8_t, 16>;
  auto& addresses = keep(kind, std::make_shared<std::vector<Address>>(kind.lookups));
  auto& hops = keep(kind, std::make_shared<std::vector<uint16_t>>(kind.lookups));
  std::mt19937 random(5);
  for (Address& address : addresses) {
    const uint64_t high = __builtin_bswap64(routes[random() % kPrefixes].prefix.address.high);
    std::memcpy(address.data(), &high, sizeof high);
    for (size_t byte = 8; byte < 16; ++byte) address[byte] = static_cast<uint8_t>(random());
  }
  const auto run = [&addresses, &hops](auto form, auto* tables) {
    return in_batches([form, tables, &addresses, &hops](size_t at, int n) {
      form(tables, reinterpret_cast<const uint8_t(*)[16]>(addresses[at].data()), &hops[at], n);
    });
  };
  const uint32_t* trie = trie_of(table.image());
  run(ip6, trie)(kind.lookups);
  const std::vector<uint16_t> right = hops;
  if (std::ranges::count(right, 0u) > 0) throw Error("an address of a prefix has no route");
  for (const auto& [name, form] :
       FormsOf<decltype(&ip6)>{{"as-written", ip6}, {"gopt", ip6_gopt}, {"coroutine", ip6_coroutine}})
    add(kind, name, run(form, trie), hops, right);
  const auto forms = ip6_lookup::forms(ip6_lookup::EngineKind::trie);
  const auto by_hand = std::ranges::find(forms, std::string_view("by hand"), &ip6_lookup::Form::name);
  add(kind, "by-hand", run(by_hand->look_up, &table.image()), hops, right);
  return kind;
}

LookupKind kind_of(const std::string& name, int bits) {
  return name == "chase"    ? chase_kind(bits)
         : name == "cuckoo" ? cuckoo_kind()
         : name == "ip6"    ? ip6_kind()
                            : dir24_kind(name == "dir24" ? 1 : 32);
}

double rate_of(const LookupKind& kind, const std::string& form) {
  const double start = cpu_seconds();
  kind.forms.at(form)(kind.lookups);
  return static_cast<double>(kind.lookups) * kind.accesses / (cpu_seconds() - start) * 1e-6;
}

}  // namespace heddle::bench
