#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "functions/nids/signature.h"

namespace heddle::nids {

/** States of the automaton of patterns that are added in order: each has one for each byte that it does not share with
 *  the one before, and the start is one. */
class StateCount {
 public:
  void add(std::string_view pattern);
  size_t states() const { return states_; }

 private:
  size_t states_ = 1;
  std::string_view before_;
};

constexpr size_t kMaxGroups = 256;
constexpr size_t kMaxStates = 65536;  ///< of a group

/** Rules by protocol and ports: which patterns are to be looked for in a packet. Ports that the same rules name are of
 *  one class, as a source and as a destination; a class of each leads to the group whose patterns are those of the
 *  rules for such packets. What is too much shares: ports a class, where they would make more than kMaxPortPairs
 *  pairs; sets of patterns a group, the more they have in common the sooner, until kMaxGroups are left whose automata
 *  together have at most twice the states that one automaton of all patterns has, or kMaxStates if that is more, and
 *  four times kMaxStates in any case. What shares looks for the patterns of all its rules. */
struct PortGroups {
  static constexpr uint32_t kNoPattern = ~0u;
  static constexpr uint32_t kPorts = 65536;

  /** `patterns`: in order, each once; pattern_of[rule]: which of them it has, or kNoPattern. */
  PortGroups(std::span<const Signature> rules, std::span<const std::string> patterns,
             std::span<const uint32_t> pattern_of);

  /** What becomes of packets. `always`: a rule without a pattern is for them. */
  struct Packets {
    uint32_t group = 0;
    bool always = false;
  };
  struct Ports {
    std::vector<uint8_t> source_class, destination_class;  ///< [kPorts]
    uint32_t destination_classes = 1;
    std::vector<Packets> pairs;  ///< [source class * destination_classes + destination class]
  };
  Ports tcp, udp;                               ///< packets with ports
  Packets without_ports[kProtocols];            ///< [Protocol]
  std::vector<std::vector<uint32_t>> patterns;  ///< [group], ascending
};

}  // namespace heddle::nids
