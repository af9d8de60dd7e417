#pragma once

#include <algorithm>
#include <iterator>
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
    rule.sources = rule.destinations = {nids::Ranges(0, nids::kLargestIp4), {0, nids::kLargestIp6}};
    rule.source_ports = rule.destination_ports = nids::Ranges(0, 65535);
    nids::Content content;
    content.bytes = pattern.bytes, content.nocase = pattern.nocase;
    rule.contents.push_back(std::move(content));
    set.rules.push_back(std::move(rule));
  }
  return set;
}

/** Where packets go, and which share of rules is for them alone. */
struct Service {
  const char* name;
  nids::Protocol protocol;
  uint16_t port;
  double share;
};
inline constexpr Service kServices[] = {{"http", nids::Protocol::tcp, 80, 0.65},
                                        {"tls", nids::Protocol::tcp, 443, 0.14},
                                        {"dns", nids::Protocol::udp, 53, 0.02},
                                        {"other", nids::Protocol::tcp, 60000, 0}};

/** content_rules() for services, of which so many rules are in five files of Emerging Threats'; a tenth of the rules is
 *  for any port of TCP, and what remains for a hundred other ports of TCP and UDP. */
inline nids::RuleSet service_rules(size_t count) {
  nids::RuleSet set = content_rules(count);
  std::mt19937 random(1);
  for (nids::Signature& rule : set.rules) {
    double at = std::uniform_real_distribution(0.0, 1.0)(random);
    const auto* service = std::begin(kServices);
    while (service != std::end(kServices) && at >= service->share) at -= service->share, ++service;
    const bool known = service != std::end(kServices);
    rule.protocol = known ? service->protocol : random() % 3 == 0 ? nids::Protocol::udp : nids::Protocol::tcp;
    const uint32_t port = known ? service->port : 1000 + static_cast<uint32_t>(random() % 100);
    if (!known && at < 0.1)
      rule.protocol = nids::Protocol::tcp;
    else
      rule.destination_ports = nids::Ranges(port, port);
  }
  return set;
}

/** Whether the pattern of a rule for any packet occurs. */
inline bool finds(const nids::Automata& automata, const void* text, size_t bytes) {
  return automata.finds(automata.image().without_ports[0], {static_cast<const uint8_t*>(text), bytes});
}

/** `bytes` bytes of words and of beginnings of patterns, which lead into the automaton; one text in 64 has a whole
 *  one. */
inline std::string text_for(const nids::RuleSet& set, const nids::Automata& automata, size_t bytes,
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
    if (!finds(automata, end.data(), end.size()))
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
