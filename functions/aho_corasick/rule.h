#pragma once

#include <cstddef>
#include <cstdint>

#include "core/macros.h"
#include "functions/nids/rule.h"

/** What CPU and GPU have in common: the automata, and which of them searches a packet. Where its payload begins, and
 *  what it is of, is as NIDS sees it. */
namespace heddle::aho_corasick {

using nids::Protocol;

/** A state: by byte, the next state of the same automaton. */
using Row = uint16_t[256];

/** A pattern that a state has found; `next_shorter`: the place of the next shorter one with the same end, 0: none. */
struct Found {
  uint32_t pattern, next_shorter;
};

struct Automaton {
  uint32_t first_row;    ///< of its states; the start is its first
  uint32_t accept;       ///< states from here up have found something
  uint32_t first_found;  ///< a state's Found is in place first_found + state - accept
  uint32_t longest;      ///< bytes of its longest pattern
};

/** Automata without pointers, the same bytes on CPU and GPU. Offsets count from the image's start. */
struct alignas(128) Image {
  uint64_t automata, found, rows;  ///< of Automaton, Found and Row
  uint32_t first_id;               ///< of pattern 0, which counts its packets by this number
  uint32_t matched;                ///< output of packets with a match
  uint16_t by_port[2][65536];      ///< of TCP and UDP: the automaton of a port; 0: it has none of its own

  template <class T>
  HEDDLE_HD const T* at(uint64_t offset) const {
    return reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(this) + offset);
  }
  /** The automaton for a packet. The first ones are those of protocols, in their order. */
  HEDDLE_HD uint32_t automaton_of(Protocol protocol, bool has_ports, uint32_t source, uint32_t destination) const {
    if (has_ports) {
      const uint16_t* const of = by_port[protocol == Protocol::tcp ? 0 : 1];
      if (of[destination] != 0) return of[destination];
      if (of[source] != 0) return of[source];
    }
    return static_cast<uint32_t>(protocol);
  }
  HEDDLE_HD uint32_t pattern_of(const Automaton& automaton, uint32_t state) const {
    return at<Found>(found)[automaton.first_found + state - automaton.accept].pattern;
  }
};

/** Most patterns that are counted at a time, and numbers that they count by: those of a file and of the one before
 *  it. */
constexpr uint32_t kMaxPatterns = 1 << 20, kIds = 2 * kMaxPatterns;

/** What a GPU counts. */
struct GpuMatches {
  unsigned long long packets;      ///< with a match
  unsigned long long by_id[kIds];  ///< whose first match is the pattern with this number
};

enum Reason : int { kShort };

}  // namespace heddle::aho_corasick
