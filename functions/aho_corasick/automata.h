#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/huge_pages.h"

namespace heddle::aho_corasick {

/** A text that one of the automata is to search. */
struct Text {
  const uint8_t* bytes;
  uint32_t length;     ///< below 65536
  uint32_t automaton;  ///< its number
};

/** Where patterns end: in the order of their ends, of those with one end the longest first. */
struct Match {
  uint32_t pattern, end;  ///< number in its automaton; offset behind its last byte
  bool operator==(const Match&) const = default;
};

/** Many Aho-Corasick automata (CACM 18(6), 1975), one for each group of rules, of which a packet's header chooses one:
 *  the packet filter of an intrusion detection system as "Raising the Bar for Using GPUs in Software Packet Processing"
 *  (Kalia, Zhou, Kaminsky, Andersen, NSDI 2015, section 5) takes it. A state is a row of 256 numbers of states.
 *  Searches are const and may run on any number of threads, each with its own Batch. */
class Automata {
 public:
  /** One for each element: its patterns, not empty, any bytes. Throws Error if an automaton has more than 65,536
   *  states. */
  explicit Automata(const std::vector<std::vector<std::string>>& patterns);

  /** matches[i]: what texts[i] has. One text after the other. */
  void search(std::span<const Text> texts, std::vector<Match>* matches) const;

  /** Memory that search_sorted() uses again and again. */
  struct Batch {
    std::vector<uint32_t> order, other;
  };
  /** The same, for batches of thousands: texts of one automaton follow one another, so that its rows stay in the cache,
   *  and kTogether of about the same length are searched in turns, a byte each, so that none waits for its own rows
   *  alone. */
  void search_sorted(std::span<const Text> texts, std::vector<Match>* matches, Batch& batch) const;
  /** In turns, but in the order of arrival; to measure what sorting is worth. */
  void search_together(std::span<const Text> texts, std::vector<Match>* matches) const;

  size_t states() const { return states_; }
  size_t bytes() const { return states_ * sizeof(Row); }

  static constexpr int kTogether = 8;

 private:
  using Row = uint16_t[256];  // by byte: the next state of the same automaton
  struct Found {
    uint32_t pattern, next_shorter;  // the Found of the next shorter one with the same end; 0: none
  };
  struct One {
    size_t first_row;      // of its states; the start is its first
    uint32_t accept;       // states from here up have found something: found[state - accept]
    uint32_t first_found;  // of those in found_
  };
  const Row* rows_of(const One& one) const { return reinterpret_cast<const Row*>(memory_.get()) + one.first_row; }
  void note(const One& one, uint32_t state, uint32_t end, std::vector<Match>& matches) const;
  void search_group(std::span<const Text> texts, const uint32_t* order, int n, std::vector<Match>* matches) const;

  std::vector<One> automata_;
  std::vector<Found> found_;
  HugePages memory_;  // Row[states_]
  size_t states_ = 0;
};

}  // namespace heddle::aho_corasick
