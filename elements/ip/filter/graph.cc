#include "elements/ip/filter/graph.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include "core/error.h"

namespace heddle::ip_filter {
namespace {

constexpr size_t kMaxNodes = 50000, kMaxTests = 1024;

class Builder {
 public:
  explicit Builder(bool with_lengths) : with_lengths_(with_lengths) {}

  /** The node at which `expression` begins if it leads to `yes` and `no`. */
  int32_t add(const Expression& expression, int32_t yes, int32_t no) {
    const auto& parts = expression.parts;
    switch (expression.kind) {
      case Expression::kTrue:
        return yes;
      case Expression::kTest:
        return node(expression.test, yes, no);
      case Expression::kNot:
        return add(parts[0], no, yes);
      case Expression::kAll:
        for (auto part = parts.rbegin(); part != parts.rend(); ++part) yes = add(*part, yes, no);
        return yes;
      case Expression::kAny:
        for (auto part = parts.rbegin(); part != parts.rend(); ++part) no = add(*part, yes, no);
        return no;
      case Expression::kChoose: {
        int32_t at = add(parts.back(), yes, no);
        for (size_t i = parts.size() - 1; i >= 2; i -= 2) at = add(parts[i - 2], add(parts[i - 1], yes, no), at);
        return at;
      }
    }
    return no;
  }
  Graph graph;

 private:
  int32_t node(const Test& test, int32_t yes, int32_t no) {
    if (test.about_length() && !with_lengths_) {
      uint32_t& bytes = test.base == Test::kNetworkBytes     ? graph.network_bytes
                        : test.base == Test::kTransportBytes ? graph.transport_bytes
                                                             : graph.bytes_before;
      bytes = std::max(bytes, test.low);
      return yes;
    }
    if (yes == no || (test.low == 0 && test.high >= test.mask)) return yes;
    if (test.low > test.high) return no;
    const auto [known, fresh] = tests_.try_emplace(std::tuple(test.base, test.offset, test.mask, test.low, test.high),
                                                   static_cast<int>(graph.tests.size()));
    if (fresh) graph.tests.push_back(test);
    const auto [found, added] =
        nodes_.try_emplace(std::tuple(known->second, yes, no), static_cast<int32_t>(graph.nodes.size()));
    if (added) graph.nodes.push_back({known->second, {no, yes}});
    if (graph.nodes.size() > kMaxNodes) throw Error(format("too many comparisons; expected at most %zu", kMaxNodes));
    return found->second;
  }

  bool with_lengths_;
  std::map<std::tuple<Test::Base, int, uint32_t, uint32_t, uint32_t>, int> tests_;
  std::map<std::tuple<int, int32_t, int32_t>, int32_t> nodes_;
};

/** What is known of each test: a character "?", "0" or "1". */
using Knowledge = std::string;

class Specialiser {
 public:
  explicit Specialiser(const Graph& graph) : old_(graph), most_(4 * graph.nodes.size() + 64) {
    result_.tests = old_.tests;
    result_.network_bytes = old_.network_bytes, result_.transport_bytes = old_.transport_bytes;
    result_.bytes_before = old_.bytes_before;
    tracks_ = old_.tests.size() <= kMaxTests && old_.nodes.size() <= 4 * kMaxTests;
    if (tracks_) find_reachable();
  }

  Graph run() {
    result_.start = target(old_.start, Knowledge(tracks_ ? old_.tests.size() : 0, '?'));
    while (!waiting_.empty()) {
      const auto [at, made, knowledge] = std::move(waiting_.front());
      waiting_.pop_front();
      const Graph::Node& node = old_.nodes[static_cast<size_t>(at)];
      for (const int answer : {1, 0}) {
        const int32_t next = target(node.next[answer], learnt(knowledge, node.test, answer));
        result_.nodes[static_cast<size_t>(made)].next[answer] = next;
      }
    }
    merge();
    return std::move(result_);
  }

 private:
  struct Waiting {
    int32_t at, made;
    Knowledge knowledge;
  };

  // [node][test]: whether a way leads from the node to the test. Nodes' targets have lower indices.
  void find_reachable() {
    reachable_.resize(old_.nodes.size());
    for (size_t n = 0; n < old_.nodes.size(); ++n) {
      reachable_[n].resize(old_.tests.size());
      reachable_[n][static_cast<size_t>(old_.nodes[n].test)] = true;
      for (const int32_t next : old_.nodes[n].next) {
        if (next < 0) continue;
        for (size_t t = 0; t < old_.tests.size(); ++t)
          if (reachable_[static_cast<size_t>(next)][t]) reachable_[n][t] = true;
      }
    }
  }

  Knowledge learnt(Knowledge knowledge, int test, bool answer) const {
    for (size_t t = 0; t < knowledge.size(); ++t) {
      if (knowledge[t] != '?') continue;
      const int known = implied(old_.tests[static_cast<size_t>(test)], answer, old_.tests[t]);
      if (known >= 0) knowledge[t] = known == 1 ? '1' : '0';
    }
    return knowledge;
  }

  /** The new node for an old one (or verdict) that is reached with this knowledge. */
  int32_t target(int32_t at, Knowledge knowledge) {
    if (tracks_)
      while (at >= 0) {
        const Graph::Node& node = old_.nodes[static_cast<size_t>(at)];
        const char known = knowledge[static_cast<size_t>(node.test)];
        if (known == '?') break;
        at = node.next[known == '1'];
      }
    if (at < 0) return at;
    // Two ways to a node share what follows if they differ only in what no later test asks.
    for (size_t t = 0; t < knowledge.size(); ++t)
      if (!reachable_[static_cast<size_t>(at)][t] || result_.nodes.size() >= most_) knowledge[t] = '?';
    const auto [found, added] = made_.try_emplace({at, knowledge}, static_cast<int32_t>(result_.nodes.size()));
    if (added) {
      result_.nodes.push_back({old_.nodes[static_cast<size_t>(at)].test, {-1, -1}});
      waiting_.push_back({at, found->second, std::move(knowledge)});
    }
    return found->second;
  }

  /** Makes one of nodes that ask the same and lead to the same, and none of those that lead to one place only. */
  void merge() {
    std::vector<std::pair<int32_t, int32_t>> order;  // targets come before those that lead to them
    for (auto& [key, made] : made_) order.push_back({key.first, made});
    std::sort(order.begin(), order.end());
    std::vector<int32_t> instead(result_.nodes.size());
    std::map<std::tuple<int, int32_t, int32_t>, int32_t> known;
    for (const auto& [at, made] : order) {
      Graph::Node& node = result_.nodes[static_cast<size_t>(made)];
      for (int32_t& next : node.next)
        if (next >= 0) next = instead[static_cast<size_t>(next)];
      instead[static_cast<size_t>(made)] =
          node.next[0] == node.next[1]
              ? node.next[0]
              : known.try_emplace(std::tuple(node.test, node.next[0], node.next[1]), made).first->second;
    }
    if (result_.start >= 0) result_.start = instead[static_cast<size_t>(result_.start)];
  }

  const Graph& old_;
  size_t most_;
  bool tracks_;
  std::vector<std::vector<bool>> reachable_;
  Graph result_;
  std::map<std::pair<int32_t, Knowledge>, int32_t> made_;
  std::deque<Waiting> waiting_;
};

}  // namespace

int implied(const Test& known, bool answer, const Test& asked) {
  if (!known.same_word(asked)) return -1;
  if (known.mask == asked.mask) {
    if (answer) {
      if (asked.low <= known.low && known.high <= asked.high) return 1;
      return known.high < asked.low || asked.high < known.low ? 0 : -1;
    }
    // The value is below known.low or above known.high.
    if (known.low <= asked.low && asked.high <= known.high) return 0;
    const bool all_below = known.low == 0 || (asked.low == 0 && asked.high >= known.low - 1);
    const bool all_above = known.high >= known.mask || (asked.high >= asked.mask && asked.low <= known.high + 1);
    return all_below && all_above ? 1 : -1;
  }
  if (known.low != known.high || asked.low != asked.high) return -1;
  // Bits that both look at.
  const uint32_t common = known.mask & asked.mask;
  const bool agree = (known.low & common) == (asked.low & common);
  if (answer) {
    if (!agree) return 0;
    return common == asked.mask ? 1 : -1;
  }
  return agree && common == known.mask ? 0 : -1;  // yes to `asked` would mean yes to `known`
}

Graph in_order(const Graph& graph) {
  Graph result;
  result.tests = graph.tests;
  result.network_bytes = graph.network_bytes, result.transport_bytes = graph.transport_bytes;
  result.bytes_before = graph.bytes_before;
  std::vector<int32_t> place(graph.nodes.size(), -1), queue;
  const auto target = [&](int32_t at) {
    if (at < 0) return at;
    int32_t& index = place[static_cast<size_t>(at)];
    if (index < 0) index = static_cast<int32_t>(queue.size()), queue.push_back(at);
    return index;
  };
  result.start = target(graph.start);
  for (size_t i = 0; i < queue.size(); ++i) {
    const Graph::Node& node = graph.nodes[static_cast<size_t>(queue[i])];
    const int32_t yes = target(node.next[1]), no = target(node.next[0]);
    result.nodes.push_back({node.test, {no, yes}});
  }
  return result;
}

Graph make_graph(const std::vector<Rule>& rules, uint16_t otherwise, bool with_lengths) {
  Builder builder(with_lengths);
  int32_t at = ~int32_t{otherwise};
  for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule)
    at = builder.add(rule->pattern, ~int32_t{rule->verdict}, at);
  builder.graph.start = at;
  return std::move(builder.graph);
}

Graph without_known_answers(const Graph& graph) { return Specialiser(graph).run(); }

}  // namespace heddle::ip_filter
