// gpu-l2: L2Switch in the persistent kernel on prepared packets of 64 bytes, with 1 and 10 million addresses. Four host
// threads fill slots of 32 packets as fast as they can; headers are read in place over PCIe, from a pool of 65,536
// packets. What becomes of a sample of the packets is compared with what the CPU finds.

#include <cstring>

#include "bench/gpu_slots.h"
#include "functions/cuckoo/table.h"
#include "functions/l2_switch/rule.h"

namespace heddle::bench {
namespace {

constexpr uint32_t kPackets = GpuSlots::kPackets, kLength = 64;
constexpr uint16_t kOutputs = 16, kFrom = kOutputs;  // no packet comes from where it goes
constexpr double kSeconds = 0.5;

class Setup {
 public:
  explicit Setup(size_t count) : expected_(kPackets) {
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
    for (uint32_t i = 0; i < kPackets; ++i) put_packet(i, addresses, random);

    std::vector<uint16_t> outputs;
    for (uint16_t port = 0; port <= kOutputs; ++port) outputs.push_back(gpu::kExit + port);
    const uint16_t dropped = gpu::kExit + kOutputs + 1;
    gpu::ProgramSpec spec;
    spec.nodes = {{gpu::function_id("L2Switch"),
                   {},
                   slots_.device().add_table(table_.bytes()),
                   gpu::StateId::none,
                   outputs,
                   {dropped, dropped}}};
    spec.columns_in = spec.columns = columns(Column::paint);
    slots_.start(spec);
  }

  double mpps() {
    const auto fill = [&](gpu::Slot& slot, uint32_t first, uint64_t* place) {
      for (uint32_t p = 0; p < gpu::kSlotPackets; ++p) {
        place[p] = slots_.place(first + p, kLength);
        slot.columns[p] = kFrom;
      }
    };
    return slots_.packets_per_second(kSeconds, fill, GpuSlots::sample_of(expected_)) * 1e-6;
  }
  std::string note() const {
    return format("%zu addresses, %.0f MB, 7 of 8 known", table_.size(),
                  static_cast<double>(table_.bytes().size()) / 1e6);
  }

 private:
  /** Writes a packet to a known address, or one in eight to any. */
  void put_packet(uint32_t i, const std::vector<uint64_t>& addresses, std::mt19937_64& random) {
    uint64_t key = addresses[random() % addresses.size()];
    if (random() % 8 == 0) key = random() & cuckoo::kKeyMask;
    uint8_t* at = slots_.frame(i);
    std::memset(at, 0, kLength);
    for (uint32_t b = 0; b < 6; ++b) at[b] = static_cast<uint8_t>(key >> (40 - 8 * b));
    const uint64_t word = l2_switch::is_group(key) ? 0 : table_.find(cuckoo::hash_of(table_.image(), key), key);
    expected_[i] = l2_switch::output_of(word, kFrom, kOutputs);
  }

  std::vector<uint32_t> expected_;  // [kPackets], the exit that each should take
  cuckoo::CuckooTable table_;
  GpuSlots slots_;
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
