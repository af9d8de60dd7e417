// fib: look-ups in the direct table, in the form that is chosen at start, against DPDK's rte_fib (DIR-24-8 with next
// hops of two bytes) by AVX-512 where the processor has it, with the same routes and addresses, on one core.

#define ALLOW_EXPERIMENTAL_API  // rte_vect_set_max_simd_bitwidth
extern "C" {                    // DPDK 22.11 forgets it
#include <rte_vect.h>
}

#include <rte_fib.h>
#include <rte_memory.h>
#include <sys/mman.h>

#include <random>

#include "bench/bench.h"
#include "bench/route_tables.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/ip_lookup/direct_table.h"
#include "io/dpdk/dpdk.h"

namespace heddle::bench {
namespace {

using namespace ip_lookup;

constexpr int kAddresses = 1 << 20, kBulk = 64, kRounds = 21;

class Fib {
 public:
  explicit Fib(const std::vector<Route>& routes) {
    dpdk::start_eal({"-m", "2048"}, 1);
    rte_memseg_list_walk(
        [](const rte_memseg_list* list, void*) { return madvise(list->base_va, list->len, MADV_HUGEPAGE), 0; },
        nullptr);
    if (__builtin_cpu_supports("avx512f")) rte_vect_set_max_simd_bitwidth(512);
    rte_fib_conf config{};
    config.type = RTE_FIB_DIR24_8;
    config.max_routes = static_cast<int>(2 * routes.size());
    config.dir24_8.nh_sz = RTE_FIB_DIR24_8_2B;
    config.dir24_8.num_tbl8 = kGroups;
    fib_ = rte_fib_create("fib-bench", SOCKET_ID_ANY, &config);
    if (fib_ == nullptr) throw Error("rte_fib_create failed: run fib alone, or give EAL more memory");
    for (const Route& route : routes)
      if (const int error = rte_fib_add(fib_, route.address, route.length, route.hop.port + 1); error != 0)
        throw Error(format("rte_fib_add: error %d", error));
    vector_ = rte_fib_select_lookup(fib_, RTE_FIB_LOOKUP_DIR24_8_VECTOR_AVX512) == 0;
  }
  ~Fib() { rte_fib_free(fib_); }
  Fib(const Fib&) = delete;
  Fib& operator=(const Fib&) = delete;
  void look_up(uint32_t* addresses, uint64_t* hops) const { rte_fib_lookup_bulk(fib_, addresses, hops, kBulk); }
  const char* name() const { return vector_ ? "rte_fib with AVX-512" : "rte_fib"; }

 private:
  rte_fib* fib_;
  bool vector_;
};

const Register fib_benchmark("fib", false, [] {
  pin_to_core(0);
  const std::vector<Route> routes = bgp_like_routes(1'000'000, 64, 1);
  const Fib theirs(routes);
  DirectTable ours;
  ours.load(routes);
  ours.choose_form();
  std::mt19937 random(2);
  std::vector<Result> results;
  for (const bool inside : {false, true}) {
    std::vector<uint32_t> addresses(kAddresses);
    for (uint32_t& address : addresses) {
      const Route& route = routes[random() % routes.size()];
      address = static_cast<uint32_t>(random());
      if (inside) address = route.address | (address & ~prefix_mask(route.length));
    }
    std::vector<uint16_t> our_hops(kAddresses);
    std::vector<uint64_t> their_hops(kAddresses);
    const auto rate = [](const auto& look_up) {
      const double start = cpu_seconds();
      for (int at = 0; at < kAddresses; at += kBulk) look_up(at);
      return kAddresses / (cpu_seconds() - start) * 1e-6;
    };
    results.push_back(paired(
        inside ? "fib-in-routes" : "fib", "M/s", 1, kRounds,
        [&] { return rate([&](int at) { ours.lookup_bulk(&addresses[at], &our_hops[at], kBulk); }); },
        [&] { return rate([&](int at) { theirs.look_up(&addresses[at], &their_hops[at]); }); }));
    results.back().note = format("baseline: %s; %zu routes; ours: %s", theirs.name(), routes.size(), ours.form());
    for (int i = 0; i < kAddresses; ++i) {
      const uint64_t ours_is = our_hops[i] == 0 ? 0 : ours.image().hops[our_hops[i]].port + 1;
      if (ours_is != their_hops[i]) throw Error(format("rte_fib answers differently to %08x", addresses[i]));
    }
  }
  return results;
});

}  // namespace
}  // namespace heddle::bench
