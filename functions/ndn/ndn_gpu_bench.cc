// gpu-ndn: NDNLookup in the persistent kernel on prepared Interests, with 1 and 10 million generated names. Four host threads
// fill slots of 32 packets as fast as they can; headers are read in place over PCIe, from a pool of 65,536
// packets. What becomes of a sample of the packets is compared with what the CPU finds.

#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "bench/bench.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/ndn/name.h"
#include "functions/ndn/table.h"
#include "gpu/functions.h"
#include "gpu/slot_ring.h"
#include "measure/generate/names.h"

namespace heddle::bench {
namespace {

using gpu::kSlotPackets;

constexpr uint32_t kPackets = 65536, kStride = 2176, kHeadroom = 128, kHeader = 14, kMostBytes = 256;
constexpr int kSlots = 256, kThreads = 4;
constexpr uint16_t kOutputs = 16;
constexpr double kSeconds = 0.5;

class Setup {
 public:
  explicit Setup(size_t count) : order_(kPackets), lengths_(kPackets), expected_(kPackets) {
    std::mt19937_64 random(6);
    names_.reset(count, random(), kHeader, kDrop);
    std::vector<std::string> wires;
    for (const std::string& text : generate_names(count, NameForm::ndn, 6)) {
      std::string wire;
      int components = 0;
      if (!ndn::parse_name(text, wire, components).empty()) continue;
      names_.set(wire, components, static_cast<uint16_t>(random() % kOutputs));
      if (wires.size() < kPackets) wires.push_back(wire);
    }
    base_ = reinterpret_cast<uint8_t*>(device_->packet_memory(size_t{kPackets} * kStride).base);
    for (uint32_t i = 0; i < kPackets; ++i) order_[i] = i;
    std::shuffle(order_.begin(), order_.end(), random);
    for (uint32_t i = 0; i < kPackets; ++i) put_packet(i, wires[random() % wires.size()]);

    std::vector<uint16_t> outputs;
    for (uint16_t port = 0; port < kOutputs; ++port) outputs.push_back(gpu::kExit + port);
    const uint16_t dropped = gpu::kExit + kOutputs;
    gpu::ProgramSpec spec;
    spec.nodes = {{gpu::function_id("NDNLookup"),
                   {},
                   device_->add_table(names_.hashes().bytes()),
                   gpu::StateId::none,
                   outputs,
                   {dropped, dropped, dropped, dropped}}};
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
    return format("%zu names, %.0f MB", names_.size(), static_cast<double>(names_.hashes().bytes().size()) / 1e6);
  }

 private:
  uint8_t* frame(uint32_t i) { return base_ + size_t{order_[i]} * kStride + kHeadroom; }

  /** Writes an Interest for a known name and one component more. */
  void put_packet(uint32_t i, std::string wire) {
    wire += std::string("\x08\x04") + "more";
    if (wire.size() > kMostBytes - 24) wire = std::string("\x08\x01") + "a";
    uint8_t* at = frame(i);
    std::memset(at, 2, kHeader);
    at[14] = ndn::kInterest, at[15] = static_cast<uint8_t>(2 + wire.size());
    at[16] = ndn::kName, at[17] = static_cast<uint8_t>(wire.size());
    std::memcpy(at + 18, wire.data(), wire.size());
    lengths_[i] = static_cast<uint32_t>(18 + wire.size());
    const uint8_t* packet = at;
    uint16_t next = 0;
    const auto group = std::make_unique<ndn::Group>();
    group->look_up(names_, &packet, &lengths_[i], &next, 1);
    expected_[i] = next < kOutputs ? next : kOutputs;
  }

  void submit(gpu::SlotRing& ring, int index, uint32_t first) {
    uint64_t place[kSlotPackets];
    for (uint32_t p = 0; p < kSlotPackets; ++p)
      place[p] = gpu::pack_word(0, lengths_[first + p], static_cast<uint64_t>(frame(first + p) - base_));
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
  std::vector<uint32_t> lengths_;   // [kPackets], in bytes
  std::vector<uint32_t> expected_;  // [kPackets], the exit that each should take
  ndn::NameTable names_;
  uint8_t* base_ = nullptr;
  std::vector<gpu::SlotRing> rings_;
  std::unique_ptr<gpu::Device> device_ = gpu::open_device("gpu");
};

std::vector<Result> gpu_ndn() {
  std::vector<Result> results;
  for (const auto& [name, count] : {std::pair{"1m", 1'000'000}, std::pair{"10m", 10'000'000}}) {
    Setup setup(static_cast<size_t>(count));
    results.push_back(absolute(format("gpu-ndn-%s", name), "Mpps", 100, false, 5, [&] { return setup.mpps(); }));
    results.back().note = setup.note();
  }
  return results;
}

const Register registered("gpu-ndn", true, gpu_ndn);

}  // namespace
}  // namespace heddle::bench
