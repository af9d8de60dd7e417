#include "functions/aho_corasick/automata.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/text_file.h"

namespace heddle::aho_corasick {
namespace {

constexpr size_t kFew = 128;  // texts that are sorted by comparing them
constexpr uint32_t kNone = UINT32_MAX;

struct Node {
  std::array<uint32_t, 256> next;  // a child, kNone while the trie is built; later the next state
  uint32_t fallback = 0, pattern = kNone;
  bool accepts = false;
};

std::vector<Node> trie_of(const std::vector<Pattern>& patterns) {
  std::vector<Node> nodes(1);
  nodes[0].next.fill(kNone);
  for (const Pattern& pattern : patterns) {
    uint32_t at = 0;
    for (const char c : pattern.bytes) {
      const auto byte = static_cast<uint8_t>(c);
      if (nodes[at].next[byte] == kNone) {
        nodes[at].next[byte] = static_cast<uint32_t>(nodes.size());
        nodes.emplace_back().next.fill(kNone);
      }
      at = nodes[at].next[byte];
    }
    if (nodes[at].pattern == kNone) nodes[at].pattern = pattern.number;
    nodes[at].accepts = true;
    if (nodes.size() > Automata::kMaxStates)
      throw Error(
          format("one automaton has too many states, with %zu patterns of which the first is %s: %zu are the "
                 "most; let it have fewer or shorter ones",
                 patterns.size(), in_quotes(patterns[0].bytes).c_str(), Automata::kMaxStates));
  }
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

Automata::Automata(std::span<const std::vector<Pattern>> patterns) : count_(patterns.size()) {
  std::vector<Automaton> automata;
  std::vector<Found> found(1);  // 0 is none
  std::vector<std::vector<std::array<uint16_t, 256>>> rows;
  for (const auto& of_one : patterns) {
    std::vector<Node> nodes = trie_of(of_one);
    if (states_ + nodes.size() > kMaxRows)
      throw Error(
          format("all automata together have too many states: %zu are the most; let there be fewer patterns, "
                 "or fewer that several automata have",
                 kMaxRows));
    std::vector<uint32_t> order = complete(nodes);
    // Those that accept come last, so that a comparison tells them.
    std::stable_partition(order.begin(), order.end(), [&](uint32_t state) { return !nodes[state].accepts; });
    std::vector<uint32_t> number(nodes.size());
    for (uint32_t k = 0; k < order.size(); ++k) number[order[k]] = k;
    Automaton one{static_cast<uint32_t>(states_), 0, static_cast<uint32_t>(found.size()), 0};
    one.accept = static_cast<uint32_t>(std::ranges::count_if(nodes, [](const Node& node) { return !node.accepts; }));
    for (const Pattern& pattern : of_one)
      one.longest = std::max(one.longest, static_cast<uint32_t>(pattern.bytes.size()));
    auto& its_rows = rows.emplace_back(nodes.size());
    for (uint32_t k = 0; k < order.size(); ++k) {
      const Node& node = nodes[order[k]];
      for (int byte = 0; byte < 256; ++byte) its_rows[k][byte] = static_cast<uint16_t>(number[node.next[byte]]);
      if (!node.accepts) continue;
      // A fallback is nearer to the start, so it has its place before.
      const uint32_t shorter = nodes[node.fallback].accepts ? one.first_found + number[node.fallback] - one.accept : 0;
      found.push_back(node.pattern != kNone ? Found{node.pattern, shorter} : found[shorter]);
    }
    automata.push_back(one);
    states_ += nodes.size();
  }

  const size_t found_at = sizeof(Image) + automata.size() * sizeof(Automaton);
  const size_t rows_at = (found_at + found.size() * sizeof(Found) + sizeof(Row) - 1) / sizeof(Row) * sizeof(Row);
  bytes_ = rows_at + states_ * sizeof(Row);
  memory_ = map_huge_pages(bytes_);
  image().automata = sizeof(Image), image().found = found_at, image().rows = rows_at;
  std::ranges::copy(automata, reinterpret_cast<Automaton*>(memory_.get() + sizeof(Image)));
  std::ranges::copy(found, reinterpret_cast<Found*>(memory_.get() + found_at));
  std::byte* to = memory_.get() + rows_at;
  for (const auto& its_rows : rows) {
    std::memcpy(to, its_rows.data(), its_rows.size() * sizeof(Row));
    to += its_rows.size() * sizeof(Row);
  }
  automata_ = image().at<Automaton>(image().automata);
  found_ = image().at<Found>(image().found);
  rows_ = image().at<Row>(image().rows);
}

namespace {

// What search_group() calls. Not inlined: its loop has no register to spare.

/** Puts all matches of texts[i] into matches[i]. */
struct NoteAll {
  std::vector<Match>* matches;
  const Found* found;
  [[gnu::noinline]] void operator()(uint32_t i, const Automaton& automaton, uint32_t state, uint32_t end) const {
    for (uint32_t at = automaton.first_found + state - automaton.accept; at != 0; at = found[at].next_shorter)
      matches[i].push_back({found[at].pattern, end});
  }
};

/** Puts the first one into first[i]. */
struct NoteFirst {
  Match* first;
  const Image& image;
  [[gnu::noinline]] void operator()(uint32_t i, const Automaton& automaton, uint32_t state, uint32_t end) const {
    if (first[i].pattern == kNoPattern) first[i] = {image.pattern_of(automaton, state), end};
  }
};

}  // namespace

void Automata::search(std::span<const Text> texts, std::vector<Match>* matches) const {
  const NoteAll note{matches, found_};
  for (uint32_t i = 0; i < texts.size(); ++i) {
    const Text& text = texts[i];
    const Automaton& automaton = automata_[text.automaton];
    const Row* rows = rows_of(automaton);
    uint32_t state = 0;
    for (uint32_t at = 0; at < text.length; ++at) {
      state = rows[state][text.bytes[at]];
      if (state >= automaton.accept) note(i, automaton, state, at + 1);
    }
  }
}

/** texts[order[0 ... n - 1]], n <= kTogether, the longest first. */
template <class Note>
void Automata::search_group(std::span<const Text> texts, const uint32_t* order, int n, const Note& note) const {
  const Automaton* automata[kTogether];
  const Row* rows[kTogether];
  const uint8_t* bytes[kTogether];
  uint32_t states[kTogether] = {}, accept[kTogether];
  for (int k = 0; k < n; ++k) {
    automata[k] = &automata_[texts[order[k]].automaton];
    rows[k] = rows_of(*automata[k]), accept[k] = automata[k]->accept, bytes[k] = texts[order[k]].bytes;
  }
  uint32_t at = 0;
  const auto turn = [&](int k) {
    states[k] = rows[k][states[k]][bytes[k][at]];
    if (states[k] >= accept[k]) [[unlikely]]
      note(order[k], *automata[k], states[k], at + 1);
  };
  if (n == kTogether)
    for (const uint32_t common = texts[order[n - 1]].length; at < common; ++at)
#pragma GCC unroll 16
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

/** Sorts order [n] by key(order[i]) below `limit`, keeping the order of equals; `other` [n] gets the result. `places`:
 *  memory. */
template <class Key>
void counting_sort(const std::vector<uint32_t>& order, std::vector<uint32_t>& other, std::vector<uint32_t>& places,
                   uint32_t limit, const Key& key) {
  places.assign(limit + 1, 0);
  for (const uint32_t i : order) ++places[key(i) + 1];
  for (uint32_t k = 0; k < limit; ++k) places[k + 1] += places[k];
  for (const uint32_t i : order) other[places[key(i)]++] = i;
}

}  // namespace

void Automata::sort(std::span<const Text> texts, Batch& batch) const {
  const size_t n = texts.size();
  batch.order.resize(n), batch.other.resize(n);
  uint32_t longest = 0;
  for (uint32_t i = 0; i < n; ++i) batch.order[i] = i, longest = std::max(longest, texts[i].length);
  if (n <= kFew) {  // counting would look at more places than there are texts
    std::ranges::sort(batch.order, [&](uint32_t a, uint32_t b) {
      return texts[a].automaton != texts[b].automaton ? texts[a].automaton < texts[b].automaton
                                                      : texts[a].length > texts[b].length;
    });
    return;
  }
  counting_sort(batch.order, batch.other, batch.places, longest + 1,
                [&](uint32_t i) { return longest - texts[i].length; });
  counting_sort(batch.other, batch.order, batch.places, static_cast<uint32_t>(count_),
                [&](uint32_t i) { return texts[i].automaton; });
}

template <class Note>
void Automata::search_sorted_groups(std::span<const Text> texts, Batch& batch, const Note& note) const {
  sort(texts, batch);
  for (size_t first = 0; first < texts.size(); first += kTogether) {
    const auto count = std::min<size_t>(kTogether, texts.size() - first);
    uint32_t* group = batch.order.data() + first;
    put_longest_first(texts, group, count);  // where an automaton's last texts and the next one's first meet
    search_group(texts, group, static_cast<int>(count), note);
  }
}

void Automata::search_together(std::span<const Text> texts, std::vector<Match>* matches) const {
  uint32_t order[kTogether];
  for (size_t first = 0; first < texts.size(); first += kTogether) {
    const auto n = std::min<size_t>(kTogether, texts.size() - first);
    for (size_t k = 0; k < n; ++k) order[k] = static_cast<uint32_t>(first + k);
    put_longest_first(texts, order, n);
    search_group(texts, order, static_cast<int>(n), NoteAll{matches, found_});
  }
}

void Automata::search_sorted(std::span<const Text> texts, std::vector<Match>* matches, Batch& batch) const {
  search_sorted_groups(texts, batch, NoteAll{matches, found_});
}

void Automata::find_first(std::span<const Text> texts, Match* first, Batch& batch) const {
  std::fill_n(first, texts.size(), Match{kNoPattern, 0});
  search_sorted_groups(texts, batch, NoteFirst{first, image()});
}

}  // namespace heddle::aho_corasick
