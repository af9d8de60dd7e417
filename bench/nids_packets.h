#pragma once

// What benchmarks of NIDS and of chains with it share: packets of IPv4 and UDP with texts in which a NIDS looks.

#include <array>
#include <string>
#include <vector>

#include "bench/gpu_slots.h"
#include "functions/classifier/rule.h"
#include "functions/nids/rules_for_bench.h"

namespace heddle::bench {

constexpr uint32_t kPackets = GpuSlots::kPackets, kL3 = 14, kL4 = 34, kPayload = 42, kHeaderBytes = kPayload - kL3;
constexpr size_t kPatterns = 3000;
constexpr double kSeconds = 0.5;
enum Exit : uint32_t { kOut, kCandidates, kDropped };
constexpr auto kOutExit = static_cast<uint16_t>(gpu::kExit + kOut),
               kCandidateExit = static_cast<uint16_t>(gpu::kExit + kCandidates),
               kDropExit = static_cast<uint16_t>(gpu::kExit + kDropped);
constexpr ColumnSet kHeaderColumns = columns(Column::dst, Column::l3, Column::l4);  ///< what a ring's headers give

/** IPv4 and UDP header of a packet, as the bytes lie. */
using Headers = std::array<uint8_t, kHeaderBytes>;

inline Headers headers_of(uint32_t length, const classifier::Key& key) {
  Headers headers{};
  headers[0] = 0x45, headers[8] = 64, headers[9] = 17;
  headers[2] = static_cast<uint8_t>((length - kL3) >> 8), headers[3] = static_cast<uint8_t>(length - kL3);
  for (uint32_t b = 0; b < 4; ++b) {
    headers[12 + b] = static_cast<uint8_t>(key[classifier::kSource] >> (24 - 8 * b));
    headers[16 + b] = static_cast<uint8_t>(key[classifier::kDestination] >> (24 - 8 * b));
  }
  for (uint32_t b = 0; b < 2; ++b) {
    headers[20 + b] = static_cast<uint8_t>(key[classifier::kSourcePort] >> (8 - 8 * b));
    headers[22 + b] = static_cast<uint8_t>(key[classifier::kDestinationPort] >> (8 - 8 * b));
  }
  return headers;
}

/** Texts that packets have, each many of them, and whether the automata find something in them: to make one for every
 *  packet would take longer than the measurement. */
struct Texts {
  Texts(const nids::RuleSet& rules, const nids::Automata& automata, size_t bytes, std::mt19937& random) {
    for (size_t t = 0; t < kTexts; ++t) {
      texts.push_back(text_for(rules, automata, bytes, random));
      found.push_back(finds(automata, texts[t].data(), bytes));
    }
  }
  static constexpr size_t kTexts = 4096;
  std::vector<std::string> texts;
  std::vector<uint8_t> found;
};

}  // namespace heddle::bench
