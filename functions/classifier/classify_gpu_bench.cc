// gpu-classify: BitVectorClassifier in the persistent kernel on prepared packets of 64 bytes, without ports. Four host threads
// fill slots of 32 packets as fast as they can; headers are read in place over PCIe, from a pool of 65,536 packets. The GPU's
// rule of a sample of the packets is compared with the CPU's.

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "bench/bench.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/classifier/rule_file.h"
#include "functions/classifier/table.h"
#include "gpu/functions.h"
#include "gpu/slot_ring.h"
#include "measure/generate/filter_set.h"

namespace heddle::bench {
namespace {

using namespace classifier;
using gpu::kSlotPackets;

constexpr uint32_t kPackets = 65536, kStride = 2176, kHeadroom = 128, kLength = 64, kL3 = 14, kL4 = 34;
constexpr int kSlots = 256, kThreads = 4;
constexpr uint16_t kOutputs = 16;
constexpr double kSeconds = 0.5;

class Setup {
 public:
  Setup(const char* like, size_t count) : order_(kPackets), expected_(kPackets) {
    const Actions none{.read = [](std::string_view) { return std::nullopt; }, .expected = "none", .usual = 0};
    std::vector<std::string> errors;
    std::vector<Rule> rules =
        parse_rules(like, to_text(generate_filters(parameters_like(like), {.count = count})), none, errors);
    for (size_t i = 0; i < rules.size(); ++i) rules[i].next = static_cast<uint16_t>(i % kOutputs);
    table_.load(rules, kDrop, size_t{16} << 30);
    base_ = reinterpret_cast<uint8_t*>(device_->packet_memory(size_t{kPackets} * kStride).base);
    std::mt19937 random(1);
    for (uint32_t i = 0; i < kPackets; ++i) order_[i] = i;
    std::shuffle(order_.begin(), order_.end(), random);
    for (uint32_t i = 0; i < kPackets; ++i) put_packet(i, rules, random);

    std::vector<uint16_t> outputs;
    for (uint16_t port = 0; port < kOutputs; ++port) outputs.push_back(gpu::kExit + port);
    const uint16_t dropped = gpu::kExit + kOutputs;
    gpu::ProgramSpec spec;
    spec.nodes = {{gpu::function_id("BitVectorClassifier"),
                   {},
                   device_->add_table(table_.bytes()),
                   gpu::StateId::none,
                   outputs,
                   {dropped, dropped, dropped}}};
    spec.columns_in = columns(Column::l3, Column::l4);
    spec.columns = spec.columns_in | columns(Column::rule);
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
    return format("%u rules, %.0f MB", table_.image().rules, static_cast<double>(table_.bytes().size()) / 1e6);
  }

 private:
  uint8_t* frame(uint32_t i) { return base_ + size_t{order_[i]} * kStride + kHeadroom; }

  /** Writes a packet, which lies at a corner of a rule (80 %) or anywhere. */
  void put_packet(uint32_t i, const std::vector<Rule>& rules, std::mt19937& random) {
    const Rule& rule = rules[random() % rules.size()];
    const bool inside = random() % 5 != 0;
    Key key;
    for (size_t f = 0; f < kFields; ++f)
      key[f] = (!inside             ? static_cast<uint32_t>(random())
                : random() % 2 == 0 ? rule.low[f]
                                    : rule.high[f]) &
               kLargest[f];
    uint8_t* at = frame(i);
    std::memset(at, 0, kLength);
    at[kL3] = 0x45;
    at[kL3 + 9] = static_cast<uint8_t>(key[kProtocol]);
    for (uint32_t b = 0; b < 4; ++b) {
      at[kL3 + 12 + b] = static_cast<uint8_t>(key[kSource] >> (24 - 8 * b));
      at[kL3 + 16 + b] = static_cast<uint8_t>(key[kDestination] >> (24 - 8 * b));
      at[kL4 + b] = static_cast<uint8_t>((key[kSourcePort] << 16 | key[kDestinationPort]) >> (24 - 8 * b));
    }
    if (!has_ports(key[kProtocol] << 24)) key[kSourcePort] = key[kDestinationPort] = 0;
    const uint32_t found = lookup(table_.image(), key);
    expected_[i] = found == kNoRule ? kOutputs : found % kOutputs;
  }

  void submit(gpu::SlotRing& ring, int index, uint32_t first) {
    uint32_t* at = ring.slot(index).columns;
    uint64_t place[kSlotPackets];
    for (uint32_t p = 0; p < kSlotPackets; ++p) {
      place[p] = gpu::pack_word(0, kLength, static_cast<uint64_t>(frame(first + p) - base_));
      at[p] = kL3, at[kSlotPackets + p] = kL4;
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
  BitVectorTable table_;
  uint8_t* base_ = nullptr;
  std::vector<gpu::SlotRing> rings_;
  std::unique_ptr<gpu::Device> device_ = gpu::open_device("gpu");
};

std::vector<Result> gpu_classify() {
  std::vector<Result> results;
  for (const auto& [name, count, figure] :
       {std::tuple{"1k", 1000, 300.0}, std::tuple{"16k", 16000, 300.0}, std::tuple{"50k", 50000, 150.0}}) {
    Setup setup("acl", static_cast<size_t>(count));
    results.push_back(
        absolute(format("gpu-classify-%s", name), "Mpps", figure, false, 5, [&] { return setup.mpps(); }));
    results.back().note = setup.note();
  }
  return results;
}

const Register registered("gpu-classify", true, gpu_classify);

}  // namespace
}  // namespace heddle::bench
