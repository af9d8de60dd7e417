#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/huge_pages.h"
#include "functions/nids/match.h"
#include "functions/nids/signature.h"

namespace heddle::nids {

struct PortGroups;

/** The pattern stage of a rule set, but for rules that look into HTTP transactions, which BufferRules look for: an
 *  automaton for each group of port_groups.h, and which rules each pattern stands for. A group's patterns are shortened
 *  until its states fit into 16 bits, and groups share automata, so their size is bounded whatever the rules are; what
 *  is shortened or shared finds more packets, never fewer, and the confirmation refuses those. */
class Automata {
 public:
  /** `all_tcp`: all packets of TCP are candidates. `tells`: see Image. */
  explicit Automata(std::span<const Signature> rules, bool all_tcp = false, bool tells = false);

  const Image& image() const { return *reinterpret_cast<const Image*>(memory_.get()); }
  std::span<const std::byte> bytes() const { return {memory_.get(), bytes_}; }
  /** The patterns of each automaton, [PortGroup::number], in lower case, each once. */
  const std::vector<std::vector<std::string>>& patterns() const { return patterns_; }
  size_t pattern_count() const { return pattern_count_; }  ///< different ones, of all rules
  size_t group_count() const;                              ///< those that have patterns

  const PortGroup& group_of(const View& view) const {
    return image().group_of(view.protocol, view.has_ports, view.source_port, view.destination_port);
  }
  /** Whether some pattern of the group occurs in `text`. */
  bool finds(const PortGroup& group, std::span<const uint8_t> text) const;
  /** Calls `visit(rule)` for each rule with a pattern of the group that occurs, once for each place where it ends. */
  template <class Visit>
  void each_hit(const PortGroup& group, std::span<const uint8_t> text, const Visit& visit) const {
    const Rows rows(image(), group);
    const Found* found = found_.data() + first_found_[group.number];
    uint32_t state = 0;
    for (const uint8_t byte : text) {
      state = rows.step(state, byte);
      for (uint32_t at = state; at >= group.accept; at = found[at - group.accept].next_shorter)
        for (const uint32_t rule : rules_of_[found[at - group.accept].pattern]) visit(rule);
    }
  }
  /** The rules that look for nothing and may match packets of `protocol`. */
  const std::vector<uint32_t>& always(Protocol protocol) const { return always_[static_cast<size_t>(protocol)]; }

 private:
  struct Rows {
    Rows(const Image& image, const PortGroup& group)
        : next(image.at<uint16_t>(image.next) + group.first), class_of(image.class_of), classes(image.classes) {}
    uint32_t step(uint32_t state, uint32_t byte) const { return next[state * classes + class_of[byte]]; }
    const uint16_t* next;
    const uint8_t* class_of;
    uint32_t classes;
  };
  /** What an accepting state has found: a pattern, and perhaps shorter ones that end there, too; 0: none. */
  struct Found {
    uint32_t pattern, next_shorter;
  };
  /** Patterns of an automaton, and the rules of each. */
  using Patterns = std::map<std::string, std::vector<uint32_t>>;
  /** Writes the states of one more automaton behind `first` others, and returns how many there are then. */
  size_t build(const Patterns& patterns, size_t first, std::vector<PortGroup>& built);
  /** Says what is looked for in which packets. `built`: [group]; `all`: bit p: all of Protocol p are candidates. */
  void write_groups(const PortGroups& groups, std::span<const PortGroup> built, uint32_t all);

  Image& writable() { return *reinterpret_cast<Image*>(memory_.get()); }

  size_t pattern_count_ = 0;
  std::vector<std::vector<std::string>> patterns_;
  std::vector<std::vector<uint32_t>> rules_of_;  // [pattern], of automaton after automaton
  std::vector<uint32_t> always_[kProtocols];
  std::vector<Found> found_;         // [first_found_ + state - accept]
  std::vector<size_t> first_found_;  // [automaton]
  HugePages memory_;
  size_t bytes_ = 0;
};

}  // namespace heddle::nids
