#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/huge_pages.h"
#include "functions/nids/signature.h"

namespace heddle::nids {

/** The pattern stage of a rule set: the automaton, and which rules each pattern stands for. Patterns are shortened
 *  until the automaton's states fit into 16 bits, so its size is bounded whatever the rules are; what is shortened
 *  finds more packets, never fewer, and the confirmation refuses those. */
class Automaton {
 public:
  /** `all_tcp`: all packets of TCP are candidates. `tells`: see Image. */
  explicit Automaton(std::span<const Signature> rules, bool all_tcp = false, bool tells = false);

  const Image& image() const { return *reinterpret_cast<const Image*>(memory_.get()); }
  std::span<const std::byte> bytes() const { return {memory_.get(), bytes_}; }
  /** The patterns, in lower case, each once. */
  const std::vector<std::string>& patterns() const { return patterns_; }

  /** Whether some pattern occurs in `text`. */
  bool finds(std::span<const uint8_t> text) const;
  /** Calls `visit(rule)` for each rule whose pattern occurs, once for each place where it ends. */
  template <class Visit>
  void each_hit(std::span<const uint8_t> text, const Visit& visit) const {
    const Image& image = this->image();
    uint32_t state = 0;
    for (const uint8_t byte : text) {
      state = image.step(state, byte);
      for (uint32_t at = state; at >= image.accept; at = found_[at - image.accept].next_shorter)
        for (const uint32_t rule : rules_of_[found_[at - image.accept].pattern]) visit(rule);
    }
  }
  /** The rules that look for nothing and may match packets of `protocol`. */
  const std::vector<uint32_t>& always(Protocol protocol) const { return always_[static_cast<size_t>(protocol)]; }

 private:
  /** What an accepting state has found: a pattern, and perhaps shorter ones that end there, too; 0: none. */
  struct Found {
    uint32_t pattern, next_shorter;
  };
  void build(std::span<const Signature> rules, bool all_tcp, bool tells);

  std::vector<std::string> patterns_;
  std::vector<std::vector<uint32_t>> rules_of_;  // [pattern]
  std::vector<uint32_t> always_[kProtocols];
  std::vector<Found> found_;  // [state - accept]
  HugePages memory_;
  size_t bytes_ = 0;
};

}  // namespace heddle::nids
