// ip6-lookup: lookup_bulk() against DPDK's rte_fib6 (trie, its AVX-512 form where the processor has it) and rte_lpm6
// with the same routes and addresses, on one core, each handed 64 addresses at a time as they lie in packets. Tables
// are generated from the profile of a real one (measure/generate). EAL's memory gets 2 MB pages as ours does, as far as
// the system gives any. Samples are compared, all addresses between ours and rte_fib6. ip6-lookup-trie: the same of
// ENGINE trie.

#define ALLOW_EXPERIMENTAL_API  // rte_vect_set_max_simd_bitwidth
extern "C" {                    // DPDK 22.11 forgets it
#include <rte_vect.h>
}

#include <rte_fib6.h>
#include <rte_lpm6.h>
#include <rte_memory.h>
#include <sys/mman.h>

#include <cstring>
#include <random>

#include "bench/bench.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/ip6_lookup/table.h"
#include "io/dpdk/dpdk.h"
#include "measure/generate/routes.h"

namespace heddle::bench {
namespace {

using namespace ip6_lookup;

constexpr int kKeys = 1 << 20, kBulk = 64, kRounds = 11;
constexpr uint32_t kHops = 255;
constexpr uint64_t kSeed = 6;

using Key = uint8_t[16];

void start_dpdk() {
  static const bool started = [] {
    dpdk::start_eal({"-m", "8192"}, 1);
    rte_memseg_list_walk(
        [](const rte_memseg_list* list, void*) { return madvise(list->base_va, list->len, MADV_HUGEPAGE), 0; },
        nullptr);
    if (__builtin_cpu_supports("avx512f")) rte_vect_set_max_simd_bitwidth(512);
    return true;
  }();
  (void)started;
}

void put(uint8_t* at, ip6_lookup::Address address) {
  for (int byte = 0; byte < 8; ++byte) {
    at[byte] = static_cast<uint8_t>(address.high >> (56 - 8 * byte));
    at[8 + byte] = static_cast<uint8_t>(address.low >> (56 - 8 * byte));
  }
}

std::vector<Route> routes_like_real(size_t count) {
  std::vector<Route> routes;
  std::mt19937_64 random(kSeed);
  for (const bench::Prefix& prefix : generate_prefixes(real_profile(Family::ipv6), count, kSeed))
    routes.push_back({{{static_cast<uint64_t>(prefix.address >> 64), static_cast<uint64_t>(prefix.address)},
                       static_cast<uint8_t>(prefix.length)},
                      {{}, static_cast<uint32_t>(random() % kHops)}});
  return routes;
}

/** Addresses: random ones of random routes; or, clustered, of one route in 64 alone. */
std::vector<uint8_t> keys_in(const std::vector<Route>& routes, bool clustered) {
  std::mt19937_64 random(kSeed + 1);
  std::vector<uint8_t> keys(kKeys * sizeof(Key));
  for (size_t i = 0; i < kKeys; ++i) {
    const size_t route = random() % routes.size();
    const auto& [address, length] = routes[clustered ? route / 64 * 64 : route].prefix;
    const ip6_lookup::Address mask = prefix_mask(length);
    put(&keys[i * sizeof(Key)], {address.high | (random() & ~mask.high), address.low | (random() & ~mask.low)});
  }
  return keys;
}

/** Groups of 256 entries that rte_fib6 wants to have for these routes: those of each from bit 24 on, shared or not. */
uint32_t groups_of(const std::vector<Route>& routes) {
  uint32_t groups = 256;
  for (const Route& route : routes) groups += route.prefix.length > 24 ? (route.prefix.length - 17u) / 8 : 0;
  return groups;
}

class Fib6 {
 public:
  explicit Fib6(const std::vector<Route>& routes) {
    rte_fib6_conf config{};
    config.type = RTE_FIB6_TRIE;
    config.default_nh = 0;
    config.max_routes = static_cast<int>(2 * routes.size() + 16);
    config.trie.nh_sz = RTE_FIB6_TRIE_4B;
    config.trie.num_tbl8 = groups_of(routes);
    fib_ = rte_fib6_create("ip6-bench", SOCKET_ID_ANY, &config);
    if (fib_ == nullptr)
      throw Error(format("rte_fib6_create with %u groups failed: run ip6-lookup alone, or give EAL more memory",
                         config.trie.num_tbl8));
    for (const Route& route : routes) {
      Key address;
      put(address, route.prefix.address);
      if (const int error = rte_fib6_add(fib_, address, route.prefix.length, route.hop.port + 1); error != 0)
        throw Error(format("rte_fib6_add of a /%d: error %d", route.prefix.length, error));
    }
    vector_ = rte_fib6_select_lookup(fib_, RTE_FIB6_LOOKUP_TRIE_VECTOR_AVX512) == 0;
  }
  ~Fib6() { rte_fib6_free(fib_); }
  Fib6(const Fib6&) = delete;
  Fib6& operator=(const Fib6&) = delete;
  void lookup(Key* keys, uint64_t* hops) const { rte_fib6_lookup_bulk(fib_, keys, hops, kBulk); }
  bool vector() const { return vector_; }

 private:
  rte_fib6* fib_;
  bool vector_;
};

class Lpm6 {
 public:
  explicit Lpm6(const std::vector<Route>& routes) {
    const rte_lpm6_config config{static_cast<uint32_t>(routes.size()), groups_of(routes), 0};
    lpm_ = rte_lpm6_create("ip6-bench", SOCKET_ID_ANY, &config);
    if (lpm_ == nullptr) throw Error("rte_lpm6_create failed: run ip6-lookup alone, or give EAL more memory");
    for (const Route& route : routes) {
      Key address;
      put(address, route.prefix.address);
      if (route.prefix.length > 0 && rte_lpm6_add(lpm_, address, route.prefix.length, route.hop.port + 1) != 0)
        throw Error("rte_lpm6_add failed");
    }
  }
  ~Lpm6() { rte_lpm6_free(lpm_); }
  Lpm6(const Lpm6&) = delete;
  Lpm6& operator=(const Lpm6&) = delete;
  void lookup(Key* keys, int32_t* hops) const { rte_lpm6_lookup_bulk_func(lpm_, keys, hops, kBulk); }

 private:
  rte_lpm6* lpm_;
};

template <class Lookup>
double rate(const Lookup& lookup) {
  const double start = seconds_now();
  for (size_t at = 0; at < kKeys; at += kBulk) lookup(at);
  return kKeys / (seconds_now() - start) * 1e-6;
}

std::vector<Result> against_libraries(const std::string& name, size_t count, bool with_lpm, EngineKind engine) {
  pin_to_core(0);
  start_dpdk();
  const std::vector<Route> routes = routes_like_real(count);
  RouteTable table(engine);
  table.load(routes);
  table.choose_form();
  std::vector<Result> results;
  std::vector<uint16_t> ours(kKeys);
  std::vector<uint64_t> fib_hops(kKeys);
  std::vector<int32_t> lpm_hops(kKeys);
  const auto compare = [&](const std::string& suffix, double target, std::vector<uint8_t>& bytes, const auto& theirs,
                           const std::string& baseline) {
    Key* keys = reinterpret_cast<Key*>(bytes.data());
    results.push_back(paired(
        name + suffix, "M/s", target, kRounds,
        [&] { return rate([&](size_t at) { table.lookup_bulk(table.image(), &keys[at], &ours[at], kBulk); }); },
        [&] { return rate([&](size_t at) { theirs(&keys[at], at); }); }));
    results.back().note = format("%s; baseline: %s; %zu routes, %.1f MB", table.form(), baseline.c_str(), routes.size(),
                                 static_cast<double>(table.bytes_used()) / 1e6);
  };
  std::vector<uint8_t> keys = keys_in(routes, false), clustered = keys_in(routes, true);
  {
    const Fib6 fib(routes);
    const std::string baseline = fib.vector() ? "rte_fib6 with AVX-512" : "rte_fib6";
    for (auto* which : {&keys, &clustered}) {
      compare(
          which == &keys ? "-fib6" : "-fib6-clustered", which == &keys && engine == EngineKind::tree ? 3.0 : 0, *which,
          [&](Key* key, size_t at) { fib.lookup(key, &fib_hops[at]); }, baseline);
      for (size_t i = 0; i < kKeys; ++i)
        if (fib_hops[i] != ours[i]) throw Error(format("rte_fib6 answers differently to address %zu", i));
    }
  }
  if (with_lpm) {
    const Lpm6 lpm(routes);
    compare(
        "-lpm6", 0, keys, [&](Key* key, size_t at) { lpm.lookup(key, &lpm_hops[at]); }, "rte_lpm6");
    for (size_t i = 0; i < kKeys; ++i)
      if ((lpm_hops[i] < 0 ? 0 : lpm_hops[i]) != ours[i])
        throw Error(format("rte_lpm6 answers differently to address %zu", i));
  }
  return results;
}

const Register ip6_lookup_bench("ip6-lookup", false,
                                [] { return against_libraries("ip6-200k", 200'000, true, EngineKind::tree); }),
    ip6_lookup_trie("ip6-lookup-trie", false,
                    [] { return against_libraries("ip6-trie-200k", 200'000, true, EngineKind::trie); }),
    ip6_lookup_large("ip6-lookup-1m", false,
                     [] { return against_libraries("ip6-1m", 1'000'000, false, EngineKind::tree); });

}  // namespace
}  // namespace heddle::bench
