// gpu-ip6: LookupIP6Route in the persistent kernel on prepared packets of 64 bytes, with 200,000 and 1,000,000 routes. Four
// host threads fill slots of 32 packets as fast as they can; headers are read in place over PCIe, from a pool of 65,536
// packets. What becomes of a sample of the packets is compared with what the CPU finds.

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "bench/bench.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/ip6_lookup/table.h"
#include "gpu/functions.h"
#include "gpu/slot_ring.h"
#include "measure/generate/routes.h"

namespace heddle::bench {
namespace {

using gpu::kSlotPackets;
using ip6_lookup::prefix_mask;
using ip6_lookup::Route;

constexpr uint32_t kPackets = 65536, kStride = 2176, kHeadroom = 128, kLength = 64, kL3 = 14;
constexpr int kSlots = 256, kThreads = 4;
constexpr uint16_t kOutputs = 16;
constexpr double kSeconds = 0.5;

class Setup {
 public:
  explicit Setup(size_t count) : order_(kPackets), expected_(kPackets) {
    std::mt19937_64 random(6);
    std::vector<Route> routes;
    for (const Prefix& prefix : generate_prefixes(real_profile(Family::ipv6), count, 6))
      routes.push_back({{{static_cast<uint64_t>(prefix.address >> 64), static_cast<uint64_t>(prefix.address)},
                         static_cast<uint8_t>(prefix.length)},
                        {{}, static_cast<uint32_t>(random() % kOutputs)}});
    table_.load(routes);
    base_ = reinterpret_cast<uint8_t*>(device_->packet_memory(size_t{kPackets} * kStride).base);
    for (uint32_t i = 0; i < kPackets; ++i) order_[i] = i;
    std::shuffle(order_.begin(), order_.end(), random);
    for (uint32_t i = 0; i < kPackets; ++i) put_packet(i, routes, random);

    std::vector<uint16_t> outputs;
    for (uint16_t port = 0; port < kOutputs; ++port) outputs.push_back(gpu::kExit + port);
    const uint16_t dropped = gpu::kExit + kOutputs;
    gpu::ProgramSpec spec;
    spec.nodes = {{gpu::function_id("LookupIP6Route"),
                   {},
                   device_->add_table(table_.bytes()),
                   gpu::StateId::none,
                   outputs,
                   {dropped, dropped}}};
    spec.columns_in = spec.columns = columns(Column::l3);
    const gpu::ProgramId program = device_->add_program(spec);
    for (int t = 0; t < kThreads; ++t)
      rings_.emplace_back(device_->add_slots(program, kSlots / kThreads), device_->address(program));
    device_->start(true);
  }

  double mpps() {
    std::atomic<uint64_t> total{0};
    std::atomic<bool> wrong{false};
    std::vector<std::thread> hosts;
    const double start = seconds_now();
    for (int t = 0; t < kThreads; ++t) hosts.emplace_back([&, t] { run(t, start + kSeconds, total, wrong); });
    for (auto& host : hosts) host.join();
    if (wrong) throw Error("the GPU gave a wrong result");
    return static_cast<double>(total) / (seconds_now() - start) * 1e-6;
  }
  std::string note() const {
    return format("%zu routes, %.1f MB", table_.routes().size(), static_cast<double>(table_.bytes().size()) / 1e6);
  }

 private:
  uint8_t* frame(uint32_t i) { return base_ + size_t{order_[i]} * kStride + kHeadroom; }

  /** Writes a packet to an address of a random route. */
  void put_packet(uint32_t i, const std::vector<Route>& routes, std::mt19937_64& random) {
    const auto& [address, length] = routes[random() % routes.size()].prefix;
    const auto mask = prefix_mask(length);
    const uint64_t halves[2] = {address.high | (random() & ~mask.high), address.low | (random() & ~mask.low)};
    uint8_t* at = frame(i);
    std::memset(at, 0, kLength);
    at[kL3] = 0x60;
    for (uint32_t b = 0; b < 16; ++b) at[kL3 + 24 + b] = static_cast<uint8_t>(halves[b / 8] >> (56 - 8 * (b % 8)));
    const uint16_t found = lookup(table_.image(), halves[0], halves[1]);
    expected_[i] = found == 0 ? kOutputs : found - 1u;
  }

  void submit(gpu::SlotRing& ring, int index, uint32_t first) {
    uint32_t* at = ring.slot(index).columns;
    uint64_t place[kSlotPackets];
    for (uint32_t p = 0; p < kSlotPackets; ++p) {
      place[p] = gpu::pack_word(0, kLength, static_cast<uint64_t>(frame(first + p) - base_));
      at[p] = kL3;
    }
    ring.submit(index, place, kSlotPackets);
  }

  void run(int t, double deadline, std::atomic<uint64_t>& total, std::atomic<bool>& wrong) {
    pin_to_core(t + 1);
    gpu::SlotRing& ring = rings_[static_cast<size_t>(t)];
    const uint32_t count = kPackets / kThreads, first = count * static_cast<uint32_t>(t);
    std::vector<uint32_t> tile_of(static_cast<size_t>(ring.count()));
    uint32_t next = 0;
    uint64_t done = 0, tiles = 0;
    const auto collect = [&] {
      const int index = ring.oldest();
      if ((++tiles & 15) == 0)
        for (int i = 0; i < kSlotPackets; ++i)
          if (ring.outcome(index, i).exit != expected_[tile_of[static_cast<size_t>(index)] + static_cast<uint32_t>(i)])
            wrong = true;
      ring.release_oldest();
      done += kSlotPackets;
    };
    for (uint64_t lap = 0; (lap & 63) != 0 || seconds_now() < deadline; ++lap) {
      while (ring.in_flight() > 0 && ring.oldest_done()) collect();
      if (const int slot = ring.free_slot(); slot >= 0) {
        tile_of[static_cast<size_t>(slot)] = first + next;
        submit(ring, slot, first + next);
        next = (next + kSlotPackets) % count;
      }
    }
    while (ring.in_flight() > 0)
      if (ring.oldest_done()) collect();
    total += done;
  }

  std::vector<uint32_t> order_;     // places in the pool
  std::vector<uint32_t> expected_;  // [kPackets], the exit that each should take
  ip6_lookup::RouteTable table_;
  uint8_t* base_ = nullptr;
  std::vector<gpu::SlotRing> rings_;
  std::unique_ptr<gpu::Device> device_ = gpu::open_device("gpu");
};

std::vector<Result> gpu_ip6() {
  std::vector<Result> results;
  for (const auto& [name, count, figure] : {std::tuple{"200k", 200'000, 350.0}, std::tuple{"1m", 1'000'000, 350.0}}) {
    Setup setup(static_cast<size_t>(count));
    results.push_back(absolute(format("gpu-ip6-%s", name), "Mpps", figure, false, 5, [&] { return setup.mpps(); }));
    results.back().note = setup.note();
  }
  return results;
}

const Register registered("gpu-ip6", true, gpu_ip6);

}  // namespace
}  // namespace heddle::bench
