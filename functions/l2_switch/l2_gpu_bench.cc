// gpu-l2: L2Switch in the persistent kernel on prepared packets of 64 bytes, with 1 and 10 million addresses. Four host
// threads fill slots of 32 packets as fast as they can; headers are read in place over PCIe, from a pool of 65,536
// packets. What becomes of a sample of the packets is compared with what the CPU finds.

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "bench/bench.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/cuckoo/table.h"
#include "functions/l2_switch/rule.h"
#include "gpu/functions.h"
#include "gpu/slot_ring.h"

namespace heddle::bench {
namespace {

using gpu::kSlotPackets;

constexpr uint32_t kPackets = 65536, kStride = 2176, kHeadroom = 128, kLength = 64;
constexpr int kSlots = 256, kThreads = 4;
constexpr uint16_t kOutputs = 16, kFrom = kOutputs;  // no packet comes from where it goes
constexpr double kSeconds = 0.5;

class Setup {
 public:
  explicit Setup(size_t count) : order_(kPackets), expected_(kPackets) {
    std::mt19937_64 random(6);
    table_.reset(count, random(), kOutputs);
    std::vector<uint64_t> addresses;
    cuckoo::CuckooTable::Writer writer(table_);
    while (addresses.size() < count) {
      const uint64_t key = random() & cuckoo::kKeyMask & ~(uint64_t{1} << 40);
      const auto port = static_cast<uint32_t>(random() % kOutputs);
      if (!writer.set(cuckoo::hash_of(table_.image(), key), key, l2_switch::value_of(port, 0)))
        throw Error("the table has no room");
      addresses.push_back(key);
    }
    base_ = reinterpret_cast<uint8_t*>(device_->packet_memory(size_t{kPackets} * kStride).base);
    for (uint32_t i = 0; i < kPackets; ++i) order_[i] = i;
    std::shuffle(order_.begin(), order_.end(), random);
    for (uint32_t i = 0; i < kPackets; ++i) put_packet(i, addresses, random);

    std::vector<uint16_t> outputs;
    for (uint16_t port = 0; port <= kOutputs; ++port) outputs.push_back(gpu::kExit + port);
    const uint16_t dropped = gpu::kExit + kOutputs + 1;
    gpu::ProgramSpec spec;
    spec.nodes = {{gpu::function_id("L2Switch"),
                   {},
                   device_->add_table(table_.bytes()),
                   gpu::StateId::none,
                   outputs,
                   {dropped, dropped}}};
    spec.columns_in = spec.columns = columns(Column::paint);
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
    return format("%zu addresses, %.0f MB, 7 of 8 known", table_.size(),
                  static_cast<double>(table_.bytes().size()) / 1e6);
  }

 private:
  uint8_t* frame(uint32_t i) { return base_ + size_t{order_[i]} * kStride + kHeadroom; }

  /** Writes a packet to a known address, or one in eight to any. */
  void put_packet(uint32_t i, const std::vector<uint64_t>& addresses, std::mt19937_64& random) {
    uint64_t key = addresses[random() % addresses.size()];
    if (random() % 8 == 0) key = random() & cuckoo::kKeyMask;
    uint8_t* at = frame(i);
    std::memset(at, 0, kLength);
    for (uint32_t b = 0; b < 6; ++b) at[b] = static_cast<uint8_t>(key >> (40 - 8 * b));
    const uint64_t word = l2_switch::is_group(key) ? 0 : table_.find(cuckoo::hash_of(table_.image(), key), key);
    expected_[i] = l2_switch::output_of(word, kFrom, kOutputs);
  }

  void submit(gpu::SlotRing& ring, int index, uint32_t first) {
    uint32_t* at = ring.slot(index).columns;
    uint64_t place[kSlotPackets];
    for (uint32_t p = 0; p < kSlotPackets; ++p) {
      place[p] = gpu::pack_word(0, kLength, static_cast<uint64_t>(frame(first + p) - base_));
      at[p] = kFrom;
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
  cuckoo::CuckooTable table_;
  uint8_t* base_ = nullptr;
  std::vector<gpu::SlotRing> rings_;
  std::unique_ptr<gpu::Device> device_ = gpu::open_device("gpu");
};

std::vector<Result> gpu_l2() {
  std::vector<Result> results;
  for (const auto& [name, count] : {std::pair{"1m", 1'000'000}, std::pair{"10m", 10'000'000}}) {
    Setup setup(static_cast<size_t>(count));
    results.push_back(absolute(format("gpu-l2-%s", name), "Mpps", 300, false, 5, [&] { return setup.mpps(); }));
    results.back().note = setup.note();
  }
  return results;
}

const Register registered("gpu-l2", true, gpu_l2);

}  // namespace
}  // namespace heddle::bench
