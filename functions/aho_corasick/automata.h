#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/huge_pages.h"
#include "functions/aho_corasick/rule.h"

namespace heddle::aho_corasick {

/** What an automaton looks for. */
struct Pattern {
  std::string_view bytes;  ///< not empty, any bytes
  uint32_t number;         ///< by which matches name it
};

/** A text that one of the automata is to search. */
struct Text {
  const uint8_t* bytes;
  uint32_t length;     ///< below 65536
  uint32_t automaton;  ///< its number
};

/** Where patterns end: in the order of their ends, of those with one end the longest first. */
struct Match {
  uint32_t pattern, end;  ///< its number; offset behind its last byte
  bool operator==(const Match&) const = default;
};
constexpr uint32_t kNoPattern = UINT32_MAX;  ///< Match::pattern where there is none

/** Many Aho-Corasick automata (CACM 18(6), 1975), one for each group of rules, of which a packet's header chooses one:
 *  the packet filter of an intrusion detection system as "Raising the Bar for Using GPUs in Software Packet Processing"
 *  (Kalia, Zhou, Kaminsky, Andersen, NSDI 2015, section 5) takes it. A state is a row of 256 numbers of states.
 *  Searches are const and may run on any number of threads, each with its own Batch. */
class Automata {
 public:
  static constexpr size_t kMaxAutomata = 65536, kMaxStates = 65536;  ///< states: of one automaton
  static constexpr size_t kMaxRows = size_t{1} << 22;                ///< states of all: 2 GiB

  /** One for each element: its patterns, of which equal ones are found as the first of them. Throws Error if there are
   *  too many states. */
  explicit Automata(std::span<const std::vector<Pattern>> patterns);

  /** matches[i]: what texts[i] has. One text after the other. */
  void search(std::span<const Text> texts, std::vector<Match>* matches) const;

  /** Memory that search_sorted() uses again and again. */
  struct Batch {
    std::vector<uint32_t> order, other, places;
    void reserve(size_t texts) { order.reserve(texts), other.reserve(texts), places.reserve(kMaxAutomata + 2); }
  };
  /** The same, for batches of thousands: texts of one automaton follow one another, so that its rows stay in the cache,
   *  and kTogether of about the same length are searched in turns, a byte each, so that none waits for its own rows
   *  alone. */
  void search_sorted(std::span<const Text> texts, std::vector<Match>* matches, Batch& batch) const;
  /** In turns, but in the order of arrival; to measure what sorting is worth. */
  void search_together(std::span<const Text> texts, std::vector<Match>* matches) const;

  /** As search_sorted(), but first[i] is the first match of texts[i], with kNoPattern if it has none. Allocates nothing
   *  if the batch has reserved. */
  void find_first(std::span<const Text> texts, Match* first, Batch& batch) const;

  size_t states() const { return states_; }
  std::span<const std::byte> bytes() const { return {memory_.get(), bytes_}; }
  /** With first_id, matched and by_port, which are the caller's, 0. */
  Image& image() { return *reinterpret_cast<Image*>(memory_.get()); }
  const Image& image() const { return *reinterpret_cast<const Image*>(memory_.get()); }

  /** As many as a core has cache misses under way: short texts end before the rows of an automaton are in the cache. */
  static constexpr int kTogether = 16;

 private:
  const Row* rows_of(const Automaton& automaton) const { return rows_ + automaton.first_row; }
  /** Puts the numbers of the texts, sorted, into batch.order. */
  void sort(std::span<const Text> texts, Batch& batch) const;
  /** Calls note(i, automaton, state, end) where texts[i] has come to a state that has found something. */
  template <class Note>
  void search_group(std::span<const Text> texts, const uint32_t* order, int n, const Note& note) const;
  template <class Note>
  void search_sorted_groups(std::span<const Text> texts, Batch& batch, const Note& note) const;

  HugePages memory_;  // an Image
  size_t bytes_ = 0, states_ = 0, count_ = 0;
  // In there.
  const Automaton* automata_ = nullptr;
  const Found* found_ = nullptr;
  const Row* rows_ = nullptr;
};

}  // namespace heddle::aho_corasick
