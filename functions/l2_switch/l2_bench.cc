// l2-lookup: look-ups in the switch's table against DPDK's rte_hash_lookup_bulk() with the same addresses, 64 at a
// time, on one core, at one and at ten million addresses. EAL's memory gets 2 MB pages as ours does, as far as the
// system gives any.

#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_memory.h>
#include <sys/mman.h>

#include <algorithm>
#include <random>

#include "bench/bench.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/cuckoo/table.h"
#include "io/dpdk/dpdk.h"

namespace heddle::bench {
namespace {

constexpr int kBulk = 64, kRounds = 11;
constexpr size_t kKeys = 1 << 20;

struct alignas(2) Mac {
  uint8_t bytes[6];
};

Mac mac_of(uint64_t key) {
  Mac mac;
  for (int b = 0; b < 6; ++b) mac.bytes[b] = static_cast<uint8_t>(key >> (40 - 8 * b));
  return mac;
}
uint64_t key_of(const Mac& mac) {
  uint32_t high;
  uint16_t low;
  __builtin_memcpy(&high, mac.bytes, 4);
  __builtin_memcpy(&low, mac.bytes + 4, 2);
  return uint64_t{__builtin_bswap32(high)} << 16 | __builtin_bswap16(low);
}

Result against_rte_hash(const char* name, size_t count, double target) {
  pin_to_core(0);
  dpdk::start_eal({"-m", "2048"}, 1);
  rte_memseg_list_walk(
      [](const rte_memseg_list* list, void*) { return madvise(list->base_va, list->len, MADV_HUGEPAGE), 0; }, nullptr);
  rte_hash_parameters parameters{};
  parameters.name = name;
  parameters.entries = static_cast<uint32_t>(count + count / 8);
  parameters.key_len = sizeof(Mac);
  parameters.hash_func = rte_hash_crc;
  parameters.socket_id = SOCKET_ID_ANY;
  rte_hash* theirs = rte_hash_create(&parameters);
  if (theirs == nullptr) throw Error("rte_hash_create failed: run l2-lookup alone, or give EAL more memory");
  cuckoo::CuckooTable ours;
  ours.reset(count, 7);

  std::mt19937_64 random(3);
  std::vector<Mac> all;
  cuckoo::CuckooTable::Writer writer(ours);
  while (all.size() < count) {
    const uint64_t key = random() & cuckoo::kKeyMask;
    const auto port = static_cast<uint16_t>(1 + key % 64);
    const Mac mac = mac_of(key);
    if (!writer.set(cuckoo::hash_of(ours.image(), key), key, port)) throw Error("our table has no room");
    if (rte_hash_add_key_data(theirs, &mac, reinterpret_cast<void*>(uintptr_t{port})) != 0)
      throw Error("rte_hash_add_key_data failed");
    all.push_back(mac);
  }
  std::vector<Mac> macs(kKeys);
  std::vector<const void*> pointers;
  for (Mac& mac : macs) {
    mac = random() % 8 == 0 ? mac_of(random() & cuckoo::kKeyMask) : all[random() % all.size()];
    pointers.push_back(&mac);
  }

  std::vector<uint64_t> our_ports(kKeys), words(kBulk), keys(kBulk);
  std::vector<uint32_t> hashes(kBulk);
  std::vector<void*> their_ports(kKeys);
  const auto rate = [](const auto& look_up) {
    const double start = seconds_now();
    for (size_t at = 0; at < kKeys; at += kBulk) look_up(at);
    return kKeys / (seconds_now() - start) * 1e-6;
  };
  Result result = paired(
      name, "M/s", target, kRounds,
      [&] {
        return rate([&](size_t at) {
          for (size_t i = 0; i < kBulk; ++i) {
            keys[i] = key_of(macs[at + i]);
            hashes[i] = cuckoo::hash_of(ours.image(), keys[i]);
          }
          ours.lookup_bulk(hashes.data(), keys.data(), words.data(), kBulk);
          for (size_t i = 0; i < kBulk; ++i) our_ports[at + i] = words[i] >> cuckoo::kValueShift;
        });
      },
      [&] {
        return rate([&](size_t at) {
          uint64_t hits = 0;
          rte_hash_lookup_bulk_data(theirs, &pointers[at], kBulk, &hits, &their_ports[at]);
          for (uint64_t missing = ~hits; missing != 0; missing &= missing - 1)
            their_ports[at + static_cast<size_t>(__builtin_ctzll(missing))] = nullptr;
        });
      });
  for (size_t i = 0; i < kKeys; ++i)
    if (our_ports[i] != reinterpret_cast<uintptr_t>(their_ports[i])) throw Error(format("key %zu differs", i));
  result.note = format("baseline: rte_hash_lookup_bulk_data; %zu addresses, %.0f MB, 7 of 8 keys found", count,
                       static_cast<double>(ours.bytes().size()) / 1e6);
  rte_hash_free(theirs);
  return result;
}

const Register l2_lookup("l2-lookup", false, [] {
  return std::vector{against_rte_hash("l2-lookup-1m", 1'000'000, 1.3),
                     against_rte_hash("l2-lookup-10m", 10'000'000, 1.3)};
});

}  // namespace
}  // namespace heddle::bench
