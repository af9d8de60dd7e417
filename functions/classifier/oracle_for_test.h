#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "functions/classifier/rule.h"

// What tests compare the classifier with: a search of all rules.
namespace heddle::classifier {

inline uint32_t first_match(const std::vector<Rule>& rules, const Key& key) {
  for (uint32_t number = 0; number < rules.size(); ++number) {
    bool matches = true;
    for (size_t f = 0; f < kFields; ++f)
      matches = matches && rules[number].low[f] <= key[f] && key[f] <= rules[number].high[f];
    if (matches) return number;
  }
  return kNoRule;
}

inline std::string text_of(const Key& key) {
  return format("%08x %08x %u %u %u", key[0], key[1], key[2], key[3], key[4]);
}

/** Prefixes of any length, ranges of ports of any size, protocols; many fields ask for nothing. */
inline std::vector<Rule> random_rules(std::mt19937& random, size_t count) {
  std::vector<Rule> rules(count);
  for (Rule& rule : rules) {
    rule.next = static_cast<uint16_t>(random() % 3);
    for (const Field f : {kSource, kDestination}) {
      const uint32_t host = static_cast<uint32_t>(~uint64_t{0} >> 32 >> random() % 33);
      rule.low[f] = static_cast<uint32_t>(random()) & ~host;
      rule.high[f] = rule.low[f] | host;
    }
    for (const Field f : {kSourcePort, kDestinationPort}) {
      if (random() % 3 == 0) continue;
      rule.low[f] = random() % 65536;
      rule.high[f] = random() % 2 == 0 ? rule.low[f] : rule.low[f] + random() % (65536 - rule.low[f]);
    }
    const uint32_t protocols[] = {6, 6, 17, 1, 0, 255};
    if (random() % 3 != 0) rule.low[kProtocol] = rule.high[kProtocol] = protocols[random() % 6];
  }
  return rules;
}

/** Rules each of which lies within the next one, on both ports. */
inline std::vector<Rule> nested_rules(uint32_t count) {
  std::vector<Rule> rules(count);
  for (uint32_t i = 0; i < count; ++i) {
    rules[i].next = static_cast<uint16_t>(i % 3);
    for (const Field f : {kSourcePort, kDestinationPort}) {
      rules[i].low[f] = 30000 - i * 50;
      rules[i].high[f] = 30000 + i * 50;
    }
  }
  return rules;
}

/** A rule for each way to give every field its lowest or its highest value, and behind them, field by field, the lower
 *  and the upper half of its values, the lowest and the highest one having been asked for before. */
inline std::vector<Rule> rules_at_the_ends() {
  std::vector<Rule> rules(1 << kFields);
  for (size_t i = 0; i < rules.size(); ++i)
    for (size_t f = 0; f < kFields; ++f) rules[i].low[f] = rules[i].high[f] = (i >> f & 1) != 0 ? kLargest[f] : 0;
  for (size_t f = 0; f < kFields; ++f) {
    const uint32_t most = kLargest[f], half = most / 2;
    for (const auto& [low, high] : {std::pair{0u, 0u}, {most, most}, {0u, half}, {half + 1, most}})
      rules.emplace_back().low[f] = low, rules.back().high[f] = high;
  }
  for (size_t i = 0; i < rules.size(); ++i) rules[i].next = static_cast<uint16_t>(i % 3);
  return rules;
}

/** Values on, just off and between the limits of rules, and anywhere. */
inline std::vector<Key> keys_near(std::mt19937& random, const std::vector<Rule>& rules, size_t count) {
  std::vector<Key> keys(count);
  for (Key& key : keys) {
    const Rule rule = rules.empty() ? Rule{} : rules[random() % rules.size()];
    for (size_t f = 0; f < kFields; ++f) {
      const uint64_t size = uint64_t{rule.high[f]} - rule.low[f] + 1;
      const uint32_t values[] = {rule.low[f],
                                 rule.high[f],
                                 rule.low[f] + static_cast<uint32_t>(random() % size),
                                 rule.low[f] + static_cast<uint32_t>(random() % size),
                                 rule.low[f] - 1,
                                 rule.high[f] + 1,
                                 static_cast<uint32_t>(random())};
      const size_t choice = random() % 40;  // mostly within the rule
      key[f] = values[choice < 7 ? choice : choice % 4] & kLargest[f];
    }
  }
  return keys;
}

}  // namespace heddle::classifier
