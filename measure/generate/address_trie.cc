#include "measure/generate/address_trie.h"

#include <algorithm>
#include <cmath>

namespace heddle::bench {
namespace {

constexpr Address bit(int level) { return Address{1} << (127 - level); }

/** Counts the nodes of a trie that is given by its sorted prefixes. */
class Measure {
 public:
  explicit Measure(std::span<const Prefix> sorted) { node(sorted, 0, 0); }

  TrieShape shape() const {
    TrieShape result;
    for (size_t level = 0; level < result.levels.size(); ++level) {
      const double two = counts_[level].two, all = counts_[level].one + two;
      if (all == 0) continue;
      result.levels[level] = {counts_[level].one / all, two / all, two == 0 ? 0 : counts_[level].skew / two};
    }
    result.nesting = std::max(1, nesting_);
    return result;
  }

 private:
  void node(std::span<const Prefix> prefixes, int level, int above) {
    const auto longer =
        std::find_if(prefixes.begin(), prefixes.end(), [&](auto& prefix) { return prefix.length > level; });
    const int nesting = above + (longer != prefixes.begin());
    nesting_ = std::max(nesting_, nesting);
    if (longer == prefixes.end()) return;
    const auto second =
        std::find_if(longer, prefixes.end(), [&](const Prefix& prefix) { return (prefix.address & bit(level)) != 0; });
    const double zeros = static_cast<double>(second - longer), ones = static_cast<double>(prefixes.end() - second);
    auto& count = counts_[static_cast<size_t>(level)];
    if (zeros == 0 || ones == 0) {
      ++count.one;
    } else {
      ++count.two;
      count.skew += 1 - std::min(zeros, ones) / std::max(zeros, ones);
    }
    if (zeros != 0) node({longer, second}, level + 1, nesting);
    if (ones != 0) node({second, prefixes.end()}, level + 1, nesting);
  }

  struct Count {
    double one = 0, two = 0, skew = 0;
  };
  std::array<Count, 33> counts_;
  int nesting_ = 0;
};

/** Builds one. */
class Build {
 public:
  Build(const TrieShape& shape, std::span<const double> correlation, Random& random)
      : shape_(shape), correlation_(correlation), random_(random) {}

  void node(const std::vector<WantedPrefix*>& here, Address address, int level, int above) {
    std::vector<WantedPrefix*> child[2], free;
    bool ends = false, ends_next = false;
    for (WantedPrefix* one : here) {
      if (one->length == level) {
        one->chosen = {address, level};
        ends = true;
        continue;
      }
      ends_next |= one->length == level + 1;
      const int forced = correlated_bit(*one, level);
      (forced < 0 ? free : child[forced]).push_back(one);
    }
    const int nesting = above + ends;
    if (!free.empty()) {
      if (free.size() > 1 && nesting >= shape_.nesting - 1 && ends_next && level < 31)
        put_apart(free, child, level);
      else
        distribute(free, child, level);
    }
    for (int i = 0; i < 2; ++i)
      if (!child[i].empty()) node(child[i], i == 0 ? address : address | bit(level), level + 1, nesting);
  }

 private:
  // Which way `one` must go for its correlation; -1: any.
  int correlated_bit(WantedPrefix& one, int level) {
    if (one.correlated == nullptr) return -1;
    if (one.correlated->length <= level) {
      one.correlated = nullptr;
      return -1;
    }
    const int other = (one.correlated->address & bit(level)) != 0;
    if (random_.chance(correlation_[static_cast<size_t>(level) + 1])) return other;
    one.correlated = nullptr;
    return 1 - other;
  }

  using List = std::vector<WantedPrefix*>;
  static void append(List& to, const List& from) { to.insert(to.end(), from.begin(), from.end()); }
  // The child that more go to already.
  int heavy(const List (&child)[2]) {
    return child[0].size() == child[1].size() ? static_cast<int>(random_.below(2)) : child[1].size() > child[0].size();
  }

  // Those that end at the next level go one way, the others the other, the more numerous to the heavier child.
  void put_apart(const List& free, List (&child)[2], int level) {
    List ending, going_on;
    for (WantedPrefix* one : free) (one->length == level + 1 ? ending : going_on).push_back(one);
    const int side = heavy(child);
    append(child[side], ending.size() > going_on.size() ? ending : going_on);
    append(child[1 - side], ending.size() > going_on.size() ? going_on : ending);
  }

  void distribute(const List& free, List (&child)[2], int level) {
    const auto& shape = shape_.levels[static_cast<size_t>(level)];
    const int side = heavy(child);
    const bool open = child[0].empty() || child[1].empty();
    if (open && random_.unit() < shape.one_child) return append(child[side], free);
    // heavier + lighter = total and lighter = (1 - skew) * heavier
    const auto total = static_cast<double>(free.size() + child[0].size() + child[1].size());
    const auto heavier = static_cast<size_t>(std::floor(total / (2 - shape.skew)));
    const size_t lighter = static_cast<size_t>(total) - heavier, has = child[1 - side].size();
    const size_t to_lighter = std::min(free.size(), lighter > has ? lighter - has : 0);
    const auto middle = free.begin() + static_cast<ptrdiff_t>(to_lighter);
    append(child[1 - side], {free.begin(), middle});
    append(child[side], {middle, free.end()});
  }

  const TrieShape& shape_;
  const std::span<const double> correlation_;
  Random& random_;
};

}  // namespace

TrieShape shape_of(std::vector<Prefix> prefixes) {
  // Prefixes of one node must come before what is below it on either side, which the order by address and length gives.
  std::sort(prefixes.begin(), prefixes.end());
  return Measure(prefixes).shape();
}

void choose_addresses(std::vector<WantedPrefix>& wanted, const TrieShape& shape, std::span<const double> correlation,
                      Random& random) {
  std::vector<WantedPrefix*> all;
  for (auto& one : wanted) all.push_back(&one);
  Build(shape, correlation, random).node(all, 0, 0, 0);
}

TrieShape widened(TrieShape shape, double factor) {
  // A node with one child can double; one with two and skew s can make up for s of its lighter child.
  for (auto& level : shape.levels) {
    if (factor <= 1) break;
    const double uneven = level.one_child + level.skew * level.two_children;  // of 1: how far from a full split
    const double gain = 1 + uneven;
    if (gain <= factor) {
      level = {0, 1, 0};
      factor /= gain;
    } else {
      const double keep = 1 - (factor - 1) / uneven;
      level = {level.one_child * keep, 1 - level.one_child * keep, level.skew * keep};
      factor = 1;
    }
  }
  return shape;
}

}  // namespace heddle::bench
