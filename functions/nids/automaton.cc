#include "functions/nids/automaton.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

namespace heddle::nids {
namespace {

constexpr size_t kMostStates = 65536;

std::string lowered(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  return result;
}

/** The part of `pattern` of at most `longest` bytes that has the most different ones: it is found by chance least
 *  often. */
std::string shortened(const std::string& pattern, size_t longest) {
  size_t best = 0, most = 0;
  for (size_t first = 0; first + longest <= pattern.size(); ++first) {
    bool seen[256] = {};
    size_t different = 0;
    for (size_t at = first; at < first + longest; ++at)
      different += std::exchange(seen[static_cast<uint8_t>(pattern[at])], true) ? 0 : 1;
    if (different > most) most = different, best = first;
  }
  return pattern.substr(best, longest);
}

/** States of the automaton of sorted patterns: each has one for each byte that it does not share with the one
 *  before. */
size_t count_states(const std::map<std::string, std::vector<uint32_t>>& patterns) {
  size_t states = 1;
  std::string_view before;
  for (const auto& [pattern, rules] : patterns) {
    const auto parts = std::ranges::mismatch(pattern, before);
    states += static_cast<size_t>(pattern.end() - parts.in1);
    before = pattern;
  }
  return states;
}

struct Node {
  std::array<int32_t, 256> child;  // -1: none; by class, later the state behind each class
  int32_t fallback = 0, pattern = -1;
  bool accepts = false;
};

}  // namespace

Automaton::Automaton(std::span<const Signature> rules, bool all_tcp, bool tells) {
  std::map<std::string, std::vector<uint32_t>> by_pattern;
  for (size_t longest : {kLongestPattern, 24u, 16u, 12u, 8u, 6u, 4u, 3u, 2u, 1u}) {
    by_pattern.clear();
    for (uint32_t r = 0; r < rules.size(); ++r)
      if (const auto pattern = rules[r].fast_pattern(); !pattern.empty())
        by_pattern[shortened(lowered(pattern), std::min(longest, pattern.size()))].push_back(r);
    if (count_states(by_pattern) <= kMostStates) break;
  }
  for (auto& [pattern, of] : by_pattern) {
    patterns_.push_back(pattern);
    rules_of_.push_back(std::move(of));
  }
  for (uint32_t r = 0; r < rules.size(); ++r)
    for (uint32_t p = 0; p < kProtocols; ++p)
      if (const auto asked = rules[r].protocol;
          rules[r].fast_pattern().empty() && (asked == Protocol::ip || static_cast<uint32_t>(asked) == p))
        always_[p].push_back(r);
  build(rules, all_tcp, tells);
}

void Automaton::build(std::span<const Signature> rules, bool all_tcp, bool tells) {
  // A class for each byte that patterns have, and class 0 for all others.
  uint8_t class_of[256] = {};
  uint32_t classes = 1;
  for (const auto& pattern : patterns_)
    for (const char c : pattern)
      if (auto& its_class = class_of[static_cast<uint8_t>(c)]; its_class == 0)
        its_class = static_cast<uint8_t>(classes++);  // 230 at most: there are no capitals
  for (int c = 'A'; c <= 'Z'; ++c) class_of[c] = class_of[c | 0x20];

  std::vector<Node> nodes(1);
  nodes[0].child.fill(-1);
  for (size_t p = 0; p < patterns_.size(); ++p) {
    int32_t at = 0;
    for (const char c : patterns_[p]) {
      const uint8_t which = class_of[static_cast<uint8_t>(c)];
      if (nodes[static_cast<size_t>(at)].child[which] < 0) {
        nodes[static_cast<size_t>(at)].child[which] = static_cast<int32_t>(nodes.size());
        nodes.emplace_back().child.fill(-1);
      }
      at = nodes[static_cast<size_t>(at)].child[which];
    }
    nodes[static_cast<size_t>(at)].pattern = static_cast<int32_t>(p);
  }

  // In order of depth: a state falls back to one that is complete.
  std::vector<int32_t> order{0};
  for (size_t k = 0; k < order.size(); ++k) {
    const auto n = static_cast<size_t>(order[k]);
    const Node& fallback = nodes[static_cast<size_t>(nodes[n].fallback)];
    nodes[n].accepts = nodes[n].pattern >= 0 || (n != 0 && fallback.accepts);
    for (uint32_t c = 0; c < classes; ++c) {
      int32_t& child = nodes[n].child[c];
      const int32_t otherwise = n == 0 ? 0 : fallback.child[c];
      if (child >= 0) {
        nodes[static_cast<size_t>(child)].fallback = otherwise;
        order.push_back(child);
      } else {
        child = otherwise;
      }
    }
  }

  // Those that accept get the highest numbers.
  std::stable_partition(order.begin(), order.end(), [&](int32_t n) { return !nodes[static_cast<size_t>(n)].accepts; });
  std::vector<uint16_t> number(nodes.size());
  for (size_t k = 0; k < order.size(); ++k) number[static_cast<size_t>(order[k])] = static_cast<uint16_t>(k);
  bytes_ = sizeof(Image) + nodes.size() * classes * sizeof(uint16_t);
  memory_ = map_huge_pages(bytes_);
  auto& image = *reinterpret_cast<Image*>(memory_.get());
  image.states = static_cast<uint32_t>(nodes.size());
  image.classes = classes;
  image.tells = tells ? 1 : 0;
  image.next = sizeof(Image);
  std::memcpy(image.class_of, class_of, sizeof class_of);
  for (uint32_t p = 0; p < kProtocols; ++p) image.always |= always_[p].empty() ? 0 : 1u << p;
  for (const Signature& rule : rules) {
    const bool is_tcp = rule.protocol == Protocol::tcp || rule.protocol == Protocol::ip;
    if (rule.asks_flow() && is_tcp) image.syns = 1;
    for (uint32_t p = 0; p < kProtocols; ++p) image.always |= rule.asks_all(static_cast<Protocol>(p)) ? 1u << p : 0;
  }
  if (all_tcp) image.always |= 1u << static_cast<uint32_t>(Protocol::tcp);
  auto* next = reinterpret_cast<uint16_t*>(memory_.get() + sizeof(Image));
  image.accept = image.states;
  for (size_t k = 0; k < order.size(); ++k) {
    const Node& node = nodes[static_cast<size_t>(order[k])];
    for (uint32_t c = 0; c < classes; ++c) *next++ = number[static_cast<size_t>(node.child[c])];
    if (!node.accepts) continue;
    image.accept = std::min(image.accept, static_cast<uint32_t>(k));
    // Of a state that is accepted for what it falls back to, the first such state that has a pattern.
    const Node* at = &node;
    while (at->pattern < 0) at = &nodes[static_cast<size_t>(at->fallback)];
    const auto shorter = static_cast<size_t>(at->fallback);
    found_.push_back({static_cast<uint32_t>(at->pattern), nodes[shorter].accepts ? number[shorter] : 0u});
  }
}

bool Automaton::finds(std::span<const uint8_t> text) const {
  const Image& image = this->image();
  uint32_t state = 0;
  for (const uint8_t byte : text)
    if ((state = image.step(state, byte)) >= image.accept) return true;
  return false;
}

}  // namespace heddle::nids
