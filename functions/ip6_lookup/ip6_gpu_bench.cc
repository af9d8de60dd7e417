// gpu-ip6: LookupIP6Route in the persistent kernel on prepared packets of 64 bytes, with 200,000 and 1,000,000 routes,
// by trees and by a trie.
// Four host threads fill slots of 32 packets as fast as they can; headers are read in place over PCIe, from a pool of
// 65,536 packets. What becomes of a sample of the packets is compared with what the CPU finds.

#include <cstring>

#include "bench/gpu_slots.h"
#include "functions/ip6_lookup/table.h"
#include "measure/generate/routes.h"

namespace heddle::bench {
namespace {

using ip6_lookup::EngineKind;
using ip6_lookup::prefix_mask;
using ip6_lookup::Route;

constexpr uint32_t kPackets = GpuSlots::kPackets, kLength = 64, kL3 = 14;
constexpr uint16_t kOutputs = 16;
constexpr double kSeconds = 0.5;

class Setup {
 public:
  Setup(EngineKind engine, size_t count) : expected_(kPackets), table_(engine) {
    std::mt19937_64 random(6);
    std::vector<Route> routes;
    for (const Prefix& prefix : generate_prefixes(real_profile(Family::ipv6), count, 6))
      routes.push_back({{{static_cast<uint64_t>(prefix.address >> 64), static_cast<uint64_t>(prefix.address)},
                         static_cast<uint8_t>(prefix.length)},
                        {{}, static_cast<uint32_t>(random() % kOutputs)}});
    table_.load(routes);
    for (uint32_t i = 0; i < kPackets; ++i) put_packet(i, routes, random);

    std::vector<uint16_t> outputs;
    for (uint16_t port = 0; port < kOutputs; ++port) outputs.push_back(gpu::kExit + port);
    const uint16_t dropped = gpu::kExit + kOutputs;
    gpu::ProgramSpec spec;
    spec.nodes = {{gpu::function_id("LookupIP6Route"),
                   {},
                   slots_.device().add_table(table_.bytes()),
                   gpu::StateId::none,
                   outputs,
                   {dropped, dropped}}};
    spec.columns_in = columns(Column::l3);
    spec.columns = columns(Column::l3, Column::dst);
    slots_.start(spec);
  }

  double mpps() {
    const auto fill = [&](gpu::Slot& slot, uint32_t first, uint64_t* place) {
      for (uint32_t p = 0; p < gpu::kSlotPackets; ++p) {
        place[p] = slots_.place(first + p, kLength);
        slot.columns[p] = kL3;
      }
    };
    return slots_.packets_per_second(kSeconds, fill, GpuSlots::sample_of(expected_)) * 1e-6;
  }
  std::string note() const {
    return format("%zu routes, %.1f MB", table_.routes().size(), static_cast<double>(table_.bytes().size()) / 1e6);
  }

 private:
  /** Writes a packet to an address of a random route. */
  void put_packet(uint32_t i, const std::vector<Route>& routes, std::mt19937_64& random) {
    const auto& [address, length] = routes[random() % routes.size()].prefix;
    const auto mask = prefix_mask(length);
    const uint64_t halves[2] = {address.high | (random() & ~mask.high), address.low | (random() & ~mask.low)};
    uint8_t* at = slots_.frame(i);
    std::memset(at, 0, kLength);
    at[kL3] = 0x60;
    for (uint32_t b = 0; b < 16; ++b) at[kL3 + 24 + b] = static_cast<uint8_t>(halves[b / 8] >> (56 - 8 * (b % 8)));
    const uint16_t found = lookup(table_.image(), halves[0], halves[1]);
    expected_[i] = found == 0 ? kOutputs : found - 1u;
  }

  std::vector<uint32_t> expected_;  // [kPackets], the exit that each should take
  ip6_lookup::RouteTable table_;
  GpuSlots slots_;
};

std::vector<Result> gpu_ip6() {
  std::vector<Result> results;
  for (const EngineKind engine : {EngineKind::tree, EngineKind::trie})
    for (const auto& [name, count] : {std::pair{"200k", 200'000}, {"1m", 1'000'000}}) {
      Setup setup(engine, static_cast<size_t>(count));
      const char* const by = engine == EngineKind::trie ? "-trie" : "";
      results.push_back(
          absolute(format("gpu-ip6%s-%s", by, name), "Mpps", 350, false, 5, [&] { return setup.mpps(); }));
      results.back().note = setup.note();
    }
  return results;
}

const Register registered("gpu-ip6", true, gpu_ip6);

}  // namespace
}  // namespace heddle::bench
