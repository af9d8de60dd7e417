// ndn-lookup: Interests looked up in groups of 32 against the same one at a time, from packet to output, on one core,
// with one and ten million generated names; what is gained is latency of memory that is hidden. There is no library to
// compare with.

#include <cstring>
#include <memory>
#include <random>

#include "bench/bench.h"
#include "core/columns.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/ndn/name.h"
#include "functions/ndn/table.h"
#include "measure/generate/names.h"

namespace heddle::bench {
namespace {

using ndn::Group;

constexpr size_t kPackets = 1 << 17, kStride = 256, kHeader = 14;
constexpr int kRounds = 11;
constexpr uint64_t kSeed = 2015;

/** An Interest at `at`, of at most kStride bytes; returns its length. */
uint32_t put_interest(uint8_t* at, const std::string& wire) {
  std::memset(at, 2, 12);
  at[12] = 0x86, at[13] = 0x24;
  const size_t name = wire.size();
  at[14] = ndn::kInterest, at[15] = static_cast<uint8_t>(2 + name);
  at[16] = ndn::kName, at[17] = static_cast<uint8_t>(name);
  std::memcpy(at + 18, wire.data(), name);
  return static_cast<uint32_t>(18 + name);
}

Result grouped(const char* label, size_t count, double target) {
  pin_to_core(0);
  ndn::NameTable table;
  table.reset(count, kSeed, kHeader, heddle::kDrop);
  std::vector<std::string> wires;
  for (const std::string& text : generate_names(count, NameForm::ndn, kSeed)) {
    std::string wire;
    int components = 0;
    if (!ndn::parse_name(text, wire, components).empty()) continue;
    table.set(wire, components, static_cast<uint16_t>(wires.size() % 64));
    if (wires.size() < kPackets) wires.push_back(wire);
  }
  std::mt19937_64 random(kSeed);
  std::vector<uint8_t> memory(kPackets * kStride);
  std::vector<const uint8_t*> packets;
  std::vector<uint32_t> lengths;
  for (size_t i = 0; i < kPackets; ++i) {
    std::string wire = wires[random() % wires.size()] + std::string("\x08\x04") + "more";
    if (wire.size() > kStride - 24) wire = std::string("\x08\x01") + "a";
    packets.push_back(&memory[i * kStride]);
    lengths.push_back(put_interest(&memory[i * kStride], wire));
  }
  const auto group = std::make_unique<Group>();
  std::vector<uint16_t> together(kPackets), alone(kPackets);
  const auto rate = [&](std::vector<uint16_t>& next, size_t step) {
    const double start = seconds_now();
    for (size_t at = 0; at < kPackets; at += step)
      group->look_up(table, &packets[at], &lengths[at], &next[at], static_cast<int>(step));
    return kPackets / (seconds_now() - start) * 1e-6;
  };
  Result result = paired(
      label, "Mpps", target, kRounds, [&] { return rate(together, Group::kGroup); }, [&] { return rate(alone, 1); });
  if (together != alone) throw Error("the two differ");
  result.note = format("baseline: one at a time; %zu names, %.0f MB", table.size(),
                       static_cast<double>(table.hashes().bytes().size()) / 1e6);
  return result;
}

const Register ndn_lookup("ndn-lookup", false, [] {
  return std::vector{grouped("ndn-lookup-1m", 1'000'000, 1.5), grouped("ndn-lookup-10m", 10'000'000, 1.5)};
});

}  // namespace
}  // namespace heddle::bench
