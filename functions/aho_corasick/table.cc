#include "functions/aho_corasick/table.h"

#include <map>
#include <utility>

#include "core/error.h"

namespace heddle::aho_corasick {
namespace {

// Patterns that an automaton has count for each that has them.
constexpr size_t kMaxTogether = size_t{1} << 22;

/** The automata of ports, by protocol and port. */
using Ports = std::map<std::pair<Protocol, int>, uint32_t>;

Ports ports_of(const std::vector<PatternLine>& lines) {
  Ports ports;
  for (const PatternLine& line : lines)
    if (line.port != kAnyPort)
      ports.try_emplace({line.protocol, line.port}, static_cast<uint32_t>(nids::kProtocols + ports.size()));
  if (nids::kProtocols + ports.size() > Automata::kMaxAutomata)
    throw Error(
        format("there are patterns for %zu ports, of which each has an automaton: %zu are the most; write "
               "'any' for some",
               ports.size(), Automata::kMaxAutomata - nids::kProtocols));
  return ports;
}

/** The patterns of each automaton, in the order of their lines: an automaton of a port has those of its protocol, too,
 *  and all have those of `ip`. */
std::vector<std::vector<Pattern>> patterns_of(const std::vector<PatternLine>& lines, const Ports& ports) {
  std::vector<std::vector<Pattern>> patterns(nids::kProtocols + ports.size());
  size_t together = 0;
  for (uint32_t number = 0; number < lines.size(); ++number) {
    const PatternLine& line = lines[number];
    const auto add = [&](uint32_t automaton) {
      patterns[automaton].push_back({line.bytes, number});
      if (++together > kMaxTogether)
        throw Error(
            format("the automata of %zu ports have the patterns for 'any' port as well, which makes more than "
                   "%zu in all; let there be fewer of either",
                   ports.size(), kMaxTogether));
    };
    if (line.port != kAnyPort) {
      add(ports.at({line.protocol, line.port}));
      continue;
    }
    for (uint32_t protocol = 0; protocol < nids::kProtocols; ++protocol)
      if (line.protocol == Protocol::ip || line.protocol == static_cast<Protocol>(protocol)) add(protocol);
    for (const auto& [of, automaton] : ports)
      if (line.protocol == Protocol::ip || line.protocol == of.first) add(automaton);
  }
  return patterns;
}

}  // namespace

Generation::Generation(std::vector<PatternLine> lines_, uint32_t first_id, uint32_t matched)
    : lines(std::move(lines_)), automata(patterns_of(lines, ports_of(lines))) {
  Image& image = automata.image();
  image.first_id = first_id, image.matched = matched;
  for (const auto& [of, automaton] : ports_of(lines))
    image.by_port[of.first == Protocol::tcp ? 0 : 1][of.second] = static_cast<uint16_t>(automaton);
}

void PatternTable::load(std::vector<PatternLine> lines, uint32_t matched) {
  // Nobody counts for the patterns before the current ones any more: they have been reclaimed.
  const uint32_t first_id = current_ && current_->automata.image().first_id == 0 ? kMaxPatterns : 0;
  auto made = std::make_unique<Generation>(std::move(lines), first_id, matched);
  now_.store(made.get(), std::memory_order_release);
  std::swap(current_, made);
  if (made == nullptr) return;
  retired_ = std::move(made);
  replaced();
}

}  // namespace heddle::aho_corasick
