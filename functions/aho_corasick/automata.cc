#include "functions/aho_corasick/automata.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace heddle::aho_corasick {
namespace {

constexpr size_t kMostStates = 65536;
constexpr uint32_t kNone = UINT32_MAX;

struct Node {
  std::array<uint32_t, 256> next;  // a child, kNone while the trie is built; later the next state
  uint32_t fallback = 0, pattern = kNone;
  bool accepts = false;
};

std::vector<Node> trie_of(const std::vector<std::string>& patterns) {
  std::vector<Node> nodes(1);
  nodes[0].next.fill(kNone);
  for (uint32_t p = 0; p < patterns.size(); ++p) {
    uint32_t at = 0;
    for (const char c : patterns[p]) {
      const auto byte = static_cast<uint8_t>(c);
      if (nodes[at].next[byte] == kNone) {
        nodes[at].next[byte] = static_cast<uint32_t>(nodes.size());
        nodes.emplace_back().next.fill(kNone);
      }
      at = nodes[at].next[byte];
    }
    if (nodes[at].pattern == kNone) nodes[at].pattern = p;
    nodes[at].accepts = true;
  }
  if (nodes.size() > kMostStates)
    throw Error(format("an automaton of %zu states; the most are %zu", nodes.size(), kMostStates));
  return nodes;
}

/** Completes the states, those nearer to the start first; returns them in this order. */
std::vector<uint32_t> complete(std::vector<Node>& nodes) {
  std::vector<uint32_t> order{0};
  for (size_t at = 0; at < order.size(); ++at) {
    const uint32_t state = order[at];
    for (int byte = 0; byte < 256; ++byte) {
      uint32_t& next = nodes[state].next[byte];
      const uint32_t otherwise = state == 0 ? 0 : nodes[nodes[state].fallback].next[byte];
      if (next == kNone) {
        next = otherwise;
        continue;
      }
      nodes[next].fallback = otherwise;
      nodes[next].accepts |= nodes[otherwise].accepts;
      order.push_back(next);
    }
  }
  return order;
}

}  // namespace

Automata::Automata(const std::vector<std::vector<std::string>>& patterns) {
  using Rows = std::vector<std::array<uint16_t, 256>>;
  std::vector<Rows> all;
  found_.resize(1);  // 0 is none
  for (const auto& of_one : patterns) {
    std::vector<Node> nodes = trie_of(of_one);
    std::vector<uint32_t> order = complete(nodes);
    // Those that accept come last, so that a comparison tells them.
    std::stable_partition(order.begin(), order.end(), [&](uint32_t state) { return !nodes[state].accepts; });
    std::vector<uint32_t> number(nodes.size());
    for (uint32_t k = 0; k < order.size(); ++k) number[order[k]] = k;
    const auto accepting = static_cast<uint32_t>(std::ranges::count_if(nodes, &Node::accepts));
    const One one{states_, static_cast<uint32_t>(nodes.size()) - accepting, static_cast<uint32_t>(found_.size())};
    Rows& rows = all.emplace_back(nodes.size());
    for (uint32_t k = 0; k < order.size(); ++k) {
      const Node& node = nodes[order[k]];
      for (int byte = 0; byte < 256; ++byte) rows[k][byte] = static_cast<uint16_t>(number[node.next[byte]]);
      if (!node.accepts) continue;
      // A fallback is nearer to the start, so it has its place before.
      const uint32_t shorter = nodes[node.fallback].accepts ? one.first_found + number[node.fallback] - one.accept : 0;
      found_.push_back(node.pattern != kNone ? Found{node.pattern, shorter} : found_[shorter]);
    }
    automata_.push_back(one);
    states_ += nodes.size();
  }
  memory_ = map_huge_pages(std::max<size_t>(bytes(), 1));
  std::byte* to = memory_.get();
  for (const Rows& rows : all) {
    std::memcpy(to, rows.data(), rows.size() * sizeof(Row));
    to += rows.size() * sizeof(Row);
  }
}

void Automata::note(const One& one, uint32_t state, uint32_t end, std::vector<Match>& matches) const {
  for (uint32_t at = one.first_found + state - one.accept; at != 0; at = found_[at].next_shorter)
    matches.push_back({found_[at].pattern, end});
}

void Automata::search(std::span<const Text> texts, std::vector<Match>* matches) const {
  for (size_t i = 0; i < texts.size(); ++i) {
    const Text& text = texts[i];
    const One& one = automata_[text.automaton];
    const Row* rows = rows_of(one);
    uint32_t state = 0;
    for (uint32_t at = 0; at < text.length; ++at) {
      state = rows[state][text.bytes[at]];
      if (state >= one.accept) note(one, state, at + 1, matches[i]);
    }
  }
}

/** texts[order[0 ... n - 1]], n <= kTogether, the longest first. */
void Automata::search_group(std::span<const Text> texts, const uint32_t* order, int n,
                            std::vector<Match>* matches) const {
  const One* ones[kTogether];
  const Row* rows[kTogether];
  const uint8_t* bytes[kTogether];
  uint32_t states[kTogether] = {}, accept[kTogether];
  for (int k = 0; k < n; ++k) {
    ones[k] = &automata_[texts[order[k]].automaton];
    rows[k] = rows_of(*ones[k]), accept[k] = ones[k]->accept, bytes[k] = texts[order[k]].bytes;
  }
  uint32_t at = 0;
  const auto turn = [&](int k) {
    states[k] = rows[k][states[k]][bytes[k][at]];
    if (states[k] >= accept[k]) [[unlikely]]
      note(*ones[k], states[k], at + 1, matches[order[k]]);
  };
  if (n == kTogether)
    for (const uint32_t common = texts[order[n - 1]].length; at < common; ++at)
#pragma GCC unroll 8
      for (int k = 0; k < kTogether; ++k) turn(k);
  for (int left = n; left > 0; ++at) {  // those that are not at their end
    while (left > 0 && texts[order[left - 1]].length <= at) --left;
    for (int k = 0; k < left; ++k) turn(k);
  }
}

namespace {

/** Sorts order [n], of a few, by insertion: the longest texts first. */
void put_longest_first(std::span<const Text> texts, uint32_t* order, size_t n) {
  for (size_t i = 1; i < n; ++i)
    for (size_t k = i; k > 0 && texts[order[k]].length > texts[order[k - 1]].length; --k)
      std::swap(order[k], order[k - 1]);
}

/** Sorts order [n] by key(order[i]) below `limit`, keeping the order of equals; `other` [n] gets the result. */
template <class Key>
void counting_sort(const std::vector<uint32_t>& order, std::vector<uint32_t>& other, uint32_t limit, const Key& key) {
  std::vector<uint32_t> place(limit + 1);
  for (const uint32_t i : order) ++place[key(i) + 1];
  for (uint32_t k = 0; k < limit; ++k) place[k + 1] += place[k];
  for (const uint32_t i : order) other[place[key(i)]++] = i;
}

}  // namespace

void Automata::search_together(std::span<const Text> texts, std::vector<Match>* matches) const {
  uint32_t order[kTogether];
  for (size_t first = 0; first < texts.size(); first += kTogether) {
    const auto n = std::min<size_t>(kTogether, texts.size() - first);
    for (size_t k = 0; k < n; ++k) order[k] = static_cast<uint32_t>(first + k);
    put_longest_first(texts, order, n);
    search_group(texts, order, static_cast<int>(n), matches);
  }
}

void Automata::search_sorted(std::span<const Text> texts, std::vector<Match>* matches, Batch& batch) const {
  const size_t n = texts.size();
  batch.order.resize(n), batch.other.resize(n);
  uint32_t longest = 0;
  for (uint32_t i = 0; i < n; ++i) batch.order[i] = i, longest = std::max(longest, texts[i].length);
  counting_sort(batch.order, batch.other, longest + 1, [&](uint32_t i) { return longest - texts[i].length; });
  counting_sort(batch.other, batch.order, static_cast<uint32_t>(automata_.size()),
                [&](uint32_t i) { return texts[i].automaton; });
  for (size_t first = 0; first < n; first += kTogether) {
    const auto count = std::min<size_t>(kTogether, n - first);
    uint32_t* group = batch.order.data() + first;
    put_longest_first(texts, group, count);  // where an automaton's last texts and the next one's first meet
    search_group(texts, group, static_cast<int>(count), matches);
  }
}

}  // namespace heddle::aho_corasick
