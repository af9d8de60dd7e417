#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "functions/nids/table.h"
#include "measure/generate/patterns.h"

namespace heddle::bench {

/** Rules for any packet with a content each, whose statistics are those of Emerging Threats. */
inline nids::RuleSet content_rules(size_t count) {
  nids::RuleSet set;
  for (const Pattern& pattern : generate_patterns(count, 1)) {
    nids::Signature rule;
    rule.sid = static_cast<uint32_t>(set.rules.size()) + 1;
    rule.sources = rule.destinations = nids::Ranges(0, UINT32_MAX);
    rule.source_ports = rule.destination_ports = nids::Ranges(0, 65535);
    nids::Content content;
    content.bytes = pattern.bytes, content.nocase = pattern.nocase;
    rule.contents.push_back(std::move(content));
    set.rules.push_back(std::move(rule));
  }
  return set;
}

/** `bytes` bytes of words and of beginnings of patterns, which lead into the automaton; one text in 64 has a whole
 *  one. */
inline std::string text_for(const nids::RuleSet& set, const nids::Automaton& automaton, size_t bytes,
                            std::mt19937& random) {
  const auto pattern = [&]() -> const std::string& { return set.rules[random() % set.rules.size()].contents[0].bytes; };
  std::string text;
  while (text.size() < bytes) {
    std::string piece = " ";
    for (size_t letters = 2 + random() % 8; letters > 0; --letters) piece += static_cast<char>('a' + random() % 26);
    if (random() % 8 == 0) {
      const std::string& whole = pattern();
      piece += whole.substr(0, whole.size() / 2);
    }
    const std::string end = text.substr(text.size() - std::min<size_t>(text.size(), nids::kLongestPattern)) + piece;
    if (!automaton.finds({reinterpret_cast<const uint8_t*>(end.data()), end.size()}))
      text += piece;
    else  // perhaps no piece at all fits behind it: a pattern may end in a space
      text.resize(text.size() - std::min<size_t>(text.size(), 8));
  }
  if (random() % 64 == 0) {
    const std::string& whole = pattern();
    text.replace(random() % (bytes / 2 + 1), whole.size(), whole);
  }
  return text.substr(0, bytes);
}

}  // namespace heddle::bench
