// gpu-l2: L2Switch in the persistent kernel on prepared packets of 64 bytes, with 1 and 10 million addresses, and where
// it learns against where it does not: source addresses are looked up as well, and there is nothing new. Four host
// threads fill slots of 32 packets as fast as they can; headers are read in place over PCIe, from a pool of 65,536
// packets. What becomes of a sample of the packets is compared with what the CPU finds.

#include <cstring>

#include "bench/gpu_slots.h"
#include "functions/cuckoo/table.h"
#include "functions/l2_switch/news.h"
#include "functions/l2_switch/rule.h"

namespace heddle::bench {
namespace {

constexpr uint32_t kPackets = GpuSlots::kPackets, kLength = 64;
constexpr uint16_t kOutputs = 16;
constexpr uint32_t kTick = 1;
constexpr double kSeconds = 0.5;

class Setup {
 public:
  Setup(size_t count, bool learns) : expected_(kPackets), from_(kPackets) {
    std::mt19937_64 random(6);
    table_.reset(count, random(), l2_switch::owner_of(kOutputs, learns ? kTick : 0, 1));
    std::vector<uint64_t> addresses;
    cuckoo::CuckooTable::Writer writer(table_);
    while (addresses.size() < count) {
      const uint64_t key = random() & cuckoo::kKeyMask & ~(uint64_t{1} << 40);
      const auto port = static_cast<uint32_t>(random() % kOutputs);
      if (!writer.set(cuckoo::hash_of(table_.image(), key), key, l2_switch::value_of(port, kTick)))
        throw Error("the table has no room");
      addresses.push_back(key);
    }
    for (uint32_t i = 0; i < kPackets; ++i) put_packet(i, addresses, random);

    std::vector<uint16_t> outputs;
    for (uint16_t port = 0; port <= kOutputs; ++port) outputs.push_back(gpu::kExit + port);
    const uint16_t dropped = gpu::kExit + kOutputs + 1;
    news_ = slots_.device().add_state(sizeof(l2_switch::News));
    gpu::ProgramSpec spec;
    spec.nodes = {{gpu::function_id("L2Switch"),
                   {},
                   slots_.device().add_table(table_.bytes()),
                   news_,
                   outputs,
                   {dropped, dropped}}};
    spec.columns_in = spec.columns = columns(Column::paint);
    slots_.start(spec);
  }

  double mpps() {
    const auto fill = [&](gpu::Slot& slot, uint32_t first, uint64_t* place) {
      for (uint32_t p = 0; p < gpu::kSlotPackets; ++p) {
        place[p] = slots_.place(first + p, kLength);
        slot.columns[p] = from_[first + p];
      }
    };
    return slots_.packets_per_second(kSeconds, fill, GpuSlots::sample_of(expected_)) * 1e-6;
  }
  std::string note() const {
    return format("%zu addresses, %.0f MB, 7 of 8 known", table_.size(),
                  static_cast<double>(table_.bytes().size()) / 1e6);
  }

 private:
  /** Writes a packet from a known address to one, or one in eight to any. */
  void put_packet(uint32_t i, const std::vector<uint64_t>& addresses, std::mt19937_64& random) {
    const uint64_t source = addresses[random() % addresses.size()];
    uint64_t key = addresses[random() % addresses.size()];
    if (random() % 8 == 0) key = random() & cuckoo::kKeyMask;
    uint8_t* at = slots_.frame(i);
    std::memset(at, 0, kLength);
    for (uint32_t b = 0; b < 6; ++b) {
      at[b] = static_cast<uint8_t>(key >> (40 - 8 * b));
      at[6 + b] = static_cast<uint8_t>(source >> (40 - 8 * b));
    }
    from_[i] = l2_switch::port_of(table_.find(cuckoo::hash_of(table_.image(), source), source));
    const uint64_t word = l2_switch::is_group(key) ? 0 : table_.find(cuckoo::hash_of(table_.image(), key), key);
    const uint32_t output = l2_switch::output_of(word, from_[i], kOutputs);
    expected_[i] = output == l2_switch::kStays ? kOutputs + 1u : output;
  }

  std::vector<uint32_t> expected_;  // [kPackets], the exit that each should take
  std::vector<uint32_t> from_;      // [kPackets], the port by which it comes
  gpu::StateId news_;
  cuckoo::CuckooTable table_;
  GpuSlots slots_;
};

std::vector<Result> gpu_l2() {
  std::vector<Result> results;
  for (const auto& [name, count] : {std::pair{"1m", 1'000'000}, std::pair{"10m", 10'000'000}}) {
    const auto addresses = static_cast<size_t>(count);
    Result result;
    {
      Setup setup(addresses, false);
      result = absolute(format("gpu-l2-%s", name), "Mpps", 300, false, 5, [&] { return setup.mpps(); });
      result.note = setup.note();
    }
    results.push_back(result);
    results.push_back(paired(
        format("gpu-l2-%s-learns", name), "Mpps", 0, 3, [&] { return Setup(addresses, true).mpps(); },
        [&] { return Setup(addresses, false).mpps(); }));
  }
  return results;
}

const Register registered("gpu-l2", true, gpu_l2);

}  // namespace
}  // namespace heddle::bench
