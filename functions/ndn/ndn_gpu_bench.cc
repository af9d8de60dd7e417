// gpu-ndn: NDNLookup in the persistent kernel on prepared Interests, with 1 and 10 million generated names. Four host
// threads fill slots of 32 packets as fast as they can; headers are read in place over PCIe, from a pool of 65,536
// packets. What becomes of a sample of the packets is compared with what the CPU finds.

#include <cstring>
#include <future>
#include <memory>
#include <string>

#include "bench/gpu_slots.h"
#include "functions/ndn/name.h"
#include "functions/ndn/table.h"
#include "measure/generate/names.h"

namespace heddle::bench {
namespace {

constexpr uint32_t kPackets = GpuSlots::kPackets, kHeader = 14, kMaxBytes = 256;
constexpr uint16_t kOutputs = 16;
constexpr double kSeconds = 0.5;

constexpr size_t kParts = 8;  // in which names are made, at the same time

struct Name {
  std::string wire;
  int components;
};

/** `count` names in parts, each with a vocabulary of its own; a name that is in two parts is one in the table. */
std::vector<std::future<std::vector<Name>>> make_names(size_t count) {
  std::vector<std::future<std::vector<Name>>> parts;
  for (size_t part = 0; part < kParts; ++part)
    parts.push_back(std::async(std::launch::async, [=] {
      std::vector<Name> names;
      names.reserve(count / kParts);
      for (const std::string& text : generate_names(count / kParts, NameForm::ndn, 6 + part)) {
        Name name;
        if (ndn::parse_name(text, name.wire, name.components).empty()) names.push_back(std::move(name));
      }
      return names;
    }));
  return parts;
}

class Setup {
 public:
  explicit Setup(size_t count) : lengths_(kPackets), expected_(kPackets) {
    std::mt19937_64 random(6);
    names_.reset(count, random(), kHeader, kDrop);
    std::vector<std::string> wires;
    for (auto& part : make_names(count)) {
      const std::vector<Name> names = part.get();
      for (size_t n = 0; n < names.size(); ++n) {
        names_.set(names[n].wire, names[n].components, static_cast<uint16_t>(random() % kOutputs));
        if (n < kPackets / kParts) wires.push_back(names[n].wire);
      }
    }
    for (uint32_t i = 0; i < kPackets; ++i) put_packet(i, wires[random() % wires.size()]);

    std::vector<uint16_t> outputs;
    for (uint16_t port = 0; port < kOutputs; ++port) outputs.push_back(gpu::kExit + port);
    const uint16_t dropped = gpu::kExit + kOutputs;
    gpu::ProgramSpec spec;
    spec.nodes = {{gpu::function_id("NDNLookup"),
                   {},
                   slots_.device().add_table(names_.hashes().bytes()),
                   gpu::StateId::none,
                   outputs,
                   {dropped, dropped, dropped, dropped}}};
    slots_.start(spec);
  }

  double mpps() {
    const auto fill = [&](gpu::Slot&, uint32_t first, uint64_t* place) {
      for (uint32_t p = 0; p < gpu::kSlotPackets; ++p) place[p] = slots_.place(first + p, lengths_[first + p]);
    };
    return slots_.packets_per_second(kSeconds, fill, GpuSlots::sample_of(expected_)) * 1e-6;
  }
  std::string note() const {
    return format("%zu names, %.0f MB", names_.size(), static_cast<double>(names_.hashes().bytes().size()) / 1e6);
  }

 private:
  /** Writes an Interest for a known name and one component more. */
  void put_packet(uint32_t i, std::string wire) {
    wire += std::string("\x08\x04") + "more";
    if (wire.size() > kMaxBytes - 24) wire = std::string("\x08\x01") + "a";
    uint8_t* at = slots_.frame(i);
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

  std::vector<uint32_t> lengths_;   // [kPackets], in bytes
  std::vector<uint32_t> expected_;  // [kPackets], the exit that each should take
  ndn::NameTable names_;
  GpuSlots slots_;
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
