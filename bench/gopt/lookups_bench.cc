// gopt-chase, gopt-cuckoo and gopt-dir24: lookups that gopt has transformed against the same as written, with group
// prefetching by hand, by gopt's group prefetching, and as coroutines, on one core.

#include <algorithm>
#include <cstring>
#include <random>

#include "bench/bench.h"
#include "bench/gopt/lookups.h"
#include "bench/route_tables.h"
#include "core/cores.h"
#include "core/error.h"
#include "core/huge_pages.h"
#include "functions/ip_lookup/direct_table.h"

namespace heddle::bench {
namespace {

constexpr int kRounds = 11;

/** Runs one form of a lookup on the same batches; returns millions of lookups a second. */
using Run = std::function<double()>;
struct Forms {
  Run as_written, gopt, coroutine, by_hand, group = nullptr;
};

/** The ratios of a lookup's transformed form to the others. */
std::vector<Result> compare(const std::string& name, const std::string& note, double target, const Forms& forms) {
  std::vector<Result> results;
  const auto against = [&](const std::string& suffix, double wanted, const Run& other, const std::string& baseline) {
    results.push_back(paired(name + suffix, "M/s", wanted, kRounds, forms.gopt, other));
    results.back().note = "baseline: " + baseline + note;
  };
  against("", target, forms.as_written, "as written");
  against("-by-hand", 0.9, forms.by_hand, "group prefetching by hand");
  if (forms.group) against("-group", 0, forms.group, "gopt --backend group");
  against("-coroutine", 1, forms.coroutine, "gopt --backend coroutine");
  return results;
}

/** Throws Error unless both are the same. */
template <class T>
void expect_same(const std::vector<T>& found, const std::vector<T>& right, const char* form) {
  if (found != right) throw Error(std::string(form) + " gave a wrong result");
}

double rate(size_t lookups, double start) { return static_cast<double>(lookups) / (cpu_seconds() - start) * 1e-6; }

// ---- pointer chasing ----

const Register chase_benchmark("gopt-chase", false, [] {
  pin_to_core(0);
  constexpr int kBits = 28, kBatch = 8192, kDepth = 100;
  const HugePages memory = map_huge_pages(sizeof(uint32_t) << kBits);
  auto* const table = reinterpret_cast<uint32_t*>(memory.get());
  // x -> a * x + c runs through all of 0 .. 2^28 - 1 in one cycle; mixing its bits keeps it a permutation.
  for (uint32_t i = 0; i < 1u << kBits; ++i) {
    uint32_t x = (i * 0x85ebca6bu + 0x9e3779b9u) & ((1u << kBits) - 1);
    x = ((x ^ x >> 14) * 0xc2b2ae35u) & ((1u << kBits) - 1);
    table[i] = x ^ x >> 14;
  }
  std::mt19937 random(1);
  std::vector<uint32_t> start(kBatch), elements, right;
  for (uint32_t& element : start) element = static_cast<uint32_t>(random()) >> (32 - kBits);
  right = start;
  chase(table, right.data(), kBatch, kDepth);
  // Each run goes on from where the one before it ended, so that no cache knows its way.
  elements = start;
  const auto form = [&](auto chased, const char* name) {
    std::vector<uint32_t> found = start;
    chased(table, found.data(), kBatch, kDepth);
    expect_same(found, right, name);
    return [=, &elements] {
      const double begin = cpu_seconds();
      chased(table, elements.data(), kBatch, kDepth);
      return rate(size_t{kBatch} * kDepth, begin);
    };
  };
  return compare("gopt-chase", ", accesses, 100 for each lookup, in 1 GiB", 5,
                 {form(chase, "chase"), form(chase_gopt, "chase_gopt"), form(chase_coroutine, "chase_coroutine"),
                  form(chase_by_hand, "chase_by_hand"), form(chase_group, "chase_group")});
});

// ---- cuckoo hashing ----

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

const Register cuckoo_benchmark("gopt-cuckoo", false, [] {
  pin_to_core(0);
  constexpr uint32_t kBuckets = 1 << 23;
  constexpr size_t kKeys = 40000000, kBatch = 8192, kLookups = size_t{1} << 20;
  const HugePages memory = map_huge_pages(sizeof(cuckoo_bucket) * kBuckets);
  auto* const buckets = reinterpret_cast<cuckoo_bucket*>(memory.get());
  const auto key_of = [](size_t i) { return static_cast<uint32_t>(i) * 0x9e3779b1u; };
  std::mt19937 random(1);
  for (size_t i = 0; i < kKeys; ++i)
    if (!put(buckets, kBuckets - 1, key_of(i), static_cast<uint32_t>(i + 1), random)) throw Error("the table is full");
  std::vector<uint32_t> keys(kLookups), values(kLookups), right(kLookups);
  for (size_t i = 0; i < kLookups; ++i) {
    const size_t key = random() % kKeys;
    keys[i] = key_of(key), right[i] = static_cast<uint32_t>(key + 1);
  }
  const auto form = [&](auto found, const char* name) {
    const auto run = [&, found] {
      const double begin = cpu_seconds();
      for (size_t i = 0; i < kLookups; i += kBatch) found(buckets, kBuckets - 1, &keys[i], &values[i], kBatch);
      return rate(kLookups, begin);
    };
    std::fill(values.begin(), values.end(), 0);
    run();
    expect_same(values, right, name);
    return run;
  };
  return compare("gopt-cuckoo", ", 40,000,000 keys in 512 MiB, all lookups hit", 2.5,
                 {form(cuckoo, "cuckoo"), form(cuckoo_gopt, "cuckoo_gopt"), form(cuckoo_coroutine, "cuckoo_coroutine"),
                  form(cuckoo_by_hand, "cuckoo_by_hand")});
});

// ---- DIR-24-8 ----

/** Lookups of random addresses in routes, in `count` copies of a table. */
std::vector<Result> dir24_in(const std::string& name, size_t count, const std::string& note) {
  using namespace ip_lookup;
  constexpr size_t kBatch = 8192, kLookups = size_t{1} << 20;
  const std::vector<Route> routes = bgp_like_routes(1000000, 64, 1);
  std::vector<std::unique_ptr<std::byte, Unmap>> copies;
  std::vector<dir24_table> tables;
  {
    DirectTable table;
    table.load(routes);
    for (size_t i = 0; i < count; ++i) {
      copies.push_back(map_huge_pages(sizeof(DirectImage)));
      std::memcpy(copies.back().get(), &table.image(), sizeof(DirectImage));
      const auto& image = *reinterpret_cast<const DirectImage*>(copies.back().get());
      tables.push_back({image.tbl24, image.tbl8[0]});
    }
  }
  std::mt19937 random(2);
  std::vector<uint32_t> addresses(kLookups);
  std::vector<uint8_t> numbers(kLookups);
  std::vector<uint16_t> hops(kLookups), right(kLookups);
  for (size_t i = 0; i < kLookups; ++i) {
    const Route& route = routes[random() % routes.size()];
    addresses[i] = route.address | (static_cast<uint32_t>(random()) & ~prefix_mask(route.length));
    numbers[i] = static_cast<uint8_t>(random() % count);
    right[i] = hop_of(*reinterpret_cast<const DirectImage*>(copies[0].get()), addresses[i]);
  }
  const auto form = [&](auto found, const char* form_name) {
    const auto run = [&, found] {
      const double begin = cpu_seconds();
      for (size_t i = 0; i < kLookups; i += kBatch) found(tables.data(), &numbers[i], &addresses[i], &hops[i], kBatch);
      return rate(kLookups, begin);
    };
    std::fill(hops.begin(), hops.end(), uint16_t{0});
    run();
    expect_same(hops, right, form_name);
    return run;
  };
  return compare(name, note, 0,
                 {form(dir24, "dir24"), form(dir24_gopt, "dir24_gopt"), form(dir24_coroutine, "dir24_coroutine"),
                  form(dir24_by_hand, "dir24_by_hand"), form(dir24_group, "dir24_group")});
}

const Register dir24_benchmark("gopt-dir24", false, [] {
  pin_to_core(0);
  std::vector<Result> results = dir24_in("gopt-dir24", 1, ", a table of 40 MiB, which may lie in the cache");
  std::vector<Result> larger = dir24_in("gopt-dir24x32", 32, ", 32 tables, 1.3 GiB");
  results.insert(results.end(), larger.begin(), larger.end());
  return results;
});

}  // namespace
}  // namespace heddle::bench
