#include "functions/ip6_lookup/table.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

#include "core/error.h"
#include "functions/ip6_lookup/gateway.h"

namespace heddle::ip6_lookup {
namespace {

/** The addresses after the interval before, up to and with `last`. */
struct Interval {
  uint64_t last;
  uint32_t value;
};

/** Turns nested ranges into intervals: ranges in ascending order of their first address, outer ones first. */
class Sweep {
 public:
  explicit Sweep(uint32_t outside) { open_.push_back({UINT64_MAX, outside}); }

  /** Goes on to `first` and says which value holds there. */
  uint32_t at(uint64_t first) {
    while (open_.back().last < first) close();
    if (first > 0) put({first - 1, open_.back().value});
    return open_.back().value;
  }
  void open(uint64_t first, uint64_t last, uint32_t value) {
    at(first);
    open_.push_back({last, value});
  }
  std::vector<Interval> finish() {
    while (!open_.empty()) close();
    return std::move(intervals_);
  }

 private:
  void close() {
    put(open_.back());
    open_.pop_back();
  }
  void put(Interval next) {
    if (!intervals_.empty() && next.last <= intervals_.back().last) return;
    if (!intervals_.empty() && next.value == intervals_.back().value)
      intervals_.back().last = next.last;
    else
      intervals_.push_back(next);
  }

  std::vector<Interval> open_, intervals_;
};

/** Lines of nodes, one tree after the other. */
class Builder {
 public:
  explicit Builder(const std::vector<Route>& routes) {
    lines_.reserve(routes.size() / 3 + 1);  // what tables mostly take
    std::vector<Interval> intervals = high_intervals(routes);
    std::vector<uint32_t> counts;  // nodes of each level, leaves first
    put_tree(intervals, true, counts);
    for (uint32_t line = 0; const uint32_t count : counts) {
      levels_.insert(levels_.begin(), line);
      line += count;
    }
    for (auto& low : low_) {
      const auto line = static_cast<uint32_t>(lines_.size());
      counts.clear();
      put_tree(low, false, counts);
      trees_.push_back({line, counts[0]});
    }
  }

  HugePages write(size_t& bytes) const {
    Image image{};
    image.first_hop = kFirstTree - static_cast<uint32_t>(hops_.size());
    image.levels = static_cast<uint32_t>(levels_.size());
    std::ranges::copy(levels_, image.level);
    for (size_t limit = 0; limit < kTopNodes; ++limit)
      image.top[limit % 8][limit / 8] = limit < top_.size() ? ordered(top_[limit]) : INT64_MAX;
    image.top_level = image.levels - 1 - top_height_;
    // Levels are filled from the last one up, so each lies before the one above it.
    constexpr uint32_t kNear = 256;  // nodes, 16 KB
    while (image.far + 1 < image.levels && (image.far == 0 || levels_[image.far - 1] - levels_[image.far] <= kNear))
      ++image.far;
    const auto behind = [&bytes](size_t size) {
      const size_t offset = bytes;
      bytes = (bytes + size + kLineBytes - 1) / kLineBytes * kLineBytes;
      return offset;
    };
    bytes = 0;
    behind(sizeof image);
    image.lines = behind(lines_.size() * sizeof lines_[0]);
    image.bases = behind(bases_.size() * sizeof bases_[0]);
    image.trees = behind(trees_.size() * sizeof trees_[0]);
    image.hops = behind(hops_.size() * sizeof hops_[0]);
    HugePages memory = map_huge_pages(bytes);
    std::memcpy(memory.get(), &image, sizeof image);
    const auto put = [&memory](uint64_t offset, const auto& list) {
      if (!list.empty()) std::memcpy(memory.get() + offset, list.data(), list.size() * sizeof list[0]);
    };
    put(image.lines, lines_);
    put(image.bases, bases_);
    put(image.trees, trees_);
    const std::vector<GatewayHop> by_value(hops_.rbegin(), hops_.rend());
    put(image.hops, by_value);
    return memory;
  }

 private:
  /** The intervals of the first 64 bits; those with longer prefixes below get the value kFirstTree + number, and their
   *  intervals are low_[number]. */
  std::vector<Interval> high_intervals(const std::vector<Route>& routes) {
    Sweep sweep(0);
    for (auto route = routes.begin(); route != routes.end();) {
      const auto& [address, length] = route->prefix;
      if (length <= 64) {
        sweep.open(address.high, address.high | ~prefix_mask(length).high, value_of(route->hop));
        ++route;
        continue;
      }
      // All of this /64: what is shorter has come before.
      Sweep low(sweep.at(address.high));
      for (const uint64_t high = address.high; route != routes.end() && route->prefix.address.high == high; ++route) {
        const auto& [inner, bits] = route->prefix;
        low.open(inner.low, inner.low | ~prefix_mask(bits).low, value_of(route->hop));
      }
      const uint64_t high = std::prev(route)->prefix.address.high;
      sweep.open(high, high, kFirstTree + static_cast<uint32_t>(low_.size()));
      low_.push_back(low.finish());
    }
    return sweep.finish();
  }

  /** The value that leads to `hop`: those with gateways have values from the last one down. */
  uint32_t value_of(const Hop& hop) {
    uint32_t value = hop.port + 1;
    if (hop.gateway == Address{}) {
      largest_ = std::max(largest_, value);
    } else {
      const auto [known, is_new] = values_.try_emplace({hop.gateway, hop.port}, kFirstTree - 1 - hops_.size());
      if (is_new) hops_.push_back({number_of(hop.gateway), hop.port});
      value = known->second;
    }
    if (largest_ + hops_.size() >= kFirstTree)
      throw Error(format("IPv6 routes lead to %zu pairs of gateway and output, and to output %u: that is too many",
                         hops_.size(), largest_ - 1));
    return value;
  }

  /** Appends a tree's leaves and the levels above; `counts`: nodes of each. */
  void put_tree(const std::vector<Interval>& intervals, bool main, std::vector<uint32_t>& counts) {
    std::vector<uint64_t> lasts;  // of each node's intervals
    uint32_t trees = 0;           // so far; they are numbered in the order of their intervals
    for (size_t i = 0; i < intervals.size(); i += kLeafValues) {
      if (main && lasts.size() % kLeavesABase == 0) bases_.push_back(trees);
      Leaf leaf{};
      std::ranges::fill(leaf.limit, INT64_MAX);
      if (main) leaf.first_tree = static_cast<uint16_t>(trees - bases_.back());
      const size_t count = std::min<size_t>(kLeafValues, intervals.size() - i);
      uint32_t next = kFirstTree;
      for (size_t k = 0; k < count; ++k) {
        const auto& [last, value] = intervals[i + k];
        if (k < kLeafLimits) leaf.limit[k] = ordered(last);
        leaf.value[k] = static_cast<uint16_t>(value < kFirstTree ? value : next++);
      }
      trees += next - kFirstTree;
      lasts.push_back(intervals[i + count - 1].last);
      append(leaf);
    }
    counts.push_back(static_cast<uint32_t>(lasts.size()));
    const auto note_top = [&] {
      if (!main || !top_.empty() || lasts.size() > kTopNodes) return;
      top_ = lasts;
      top_height_ = static_cast<uint32_t>(counts.size() - 1);
    };
    note_top();
    while (lasts.size() > 1) {
      std::vector<uint64_t> above;
      for (size_t i = 0; i < lasts.size(); i += kInnerChildren) {
        Inner inner;
        std::ranges::fill(inner.limit, INT64_MAX);
        const size_t count = std::min<size_t>(kInnerChildren, lasts.size() - i);
        for (size_t k = 0; k < std::min<size_t>(count, kInnerLimits); ++k) inner.limit[k] = ordered(lasts[i + k]);
        above.push_back(lasts[i + count - 1]);
        append(inner);
      }
      counts.push_back(static_cast<uint32_t>(above.size()));
      lasts = std::move(above);
      note_top();
    }
  }

  template <class Node>
  void append(const Node& node) {
    std::memcpy(&lines_.emplace_back(), &node, sizeof node);
  }

  std::vector<std::vector<Interval>> low_;
  std::map<std::pair<Address, uint32_t>, uint32_t> values_;  // by gateway and output
  std::vector<GatewayHop> hops_;                             // the one with the highest value first
  uint32_t largest_ = 0;                                     // value of an output so far
  std::vector<Inner> lines_;
  std::vector<uint32_t> levels_;  // line of each level of the main tree, the root's first
  std::vector<uint64_t> top_;     // the last address of each node of the image's top_level
  uint32_t top_height_ = 0;       // levels below it
  std::vector<uint32_t> bases_;
  std::vector<Tree> trees_;
};

bool same_prefix(const Route& a, const Route& b) { return a.prefix == b.prefix; }

/** Of several with one prefix the last stays. `routes` are sorted. */
void keep_last(std::vector<Route>& routes) {
  // unique() keeps the first of equals.
  const auto kept = std::unique(routes.rbegin(), routes.rend(), same_prefix);
  routes.erase(routes.begin(), kept.base());
}

void check_ports(std::span<const Route> routes) {
  for (const Route& route : routes)
    if (route.hop.port >= RouteTable::kMaxPorts)
      throw Error(format("output %u: IPv6 routes lead to outputs 0 to %u", route.hop.port, RouteTable::kMaxPorts - 1));
}

/** The route of exactly this prefix, or null. `routes` are sorted. */
const Route* route_of(const std::vector<Route>& routes, const Prefix& prefix) {
  const auto found = std::ranges::lower_bound(routes, prefix, {}, &Route::prefix);
  return found != routes.end() && found->prefix == prefix ? &*found : nullptr;
}

}  // namespace

void RouteTable::use(EngineKind engine, size_t most_bytes) {
  engine_ = engine, most_bytes_ = most_bytes;
  form_ = &forms(engine).front();
  chosen_with_.reset();
  load({});
}

void RouteTable::load(std::vector<Route> routes) {
  check_ports(routes);
  if (!std::ranges::is_sorted(routes, {}, &Route::prefix)) std::ranges::stable_sort(routes, {}, &Route::prefix);
  keep_last(routes);

  size_t bytes = 0;
  std::optional<Trie> trie;
  HugePages memory;
  if (engine_ == EngineKind::trie)
    trie.emplace(routes, most_bytes_), bytes = trie->bytes(), memory = trie->take_memory();
  else
    memory = Builder(routes).write(bytes);
  if (bytes > most_bytes_)
    throw Error(format("%zu IPv6 routes need trees of %zu MB, and MEMORY allows %zu MB", routes.size(),
                       (bytes >> 20) + 1, most_bytes_ >> 20));
  image_.store(reinterpret_cast<const Image*>(memory.get()), std::memory_order_release);
  routes_ = std::move(routes);
  std::swap(memory_, memory);
  bytes_ = bytes;
  trie_ = std::move(trie);
  if (memory != nullptr) {
    retired_.push_back(std::move(memory));
    replaced();
  }
}

void RouteTable::swap_routes(RouteTable& other) {
  reclaim(), other.reclaim();
  std::swap(engine_, other.engine_), std::swap(most_bytes_, other.most_bytes_), std::swap(trie_, other.trie_);
  std::swap(routes_, other.routes_), std::swap(memory_, other.memory_), std::swap(bytes_, other.bytes_);
  image_ = other.image_.exchange(image_), form_ = other.form_.exchange(form_);
  std::swap(chosen_with_, other.chosen_with_), std::swap(chosen_early_, other.chosen_early_);
}

void RouteTable::change(std::span<const Route> set, std::span<const Prefix> gone) {
  std::vector<Route> added(set.begin(), set.end());
  std::ranges::stable_sort(added, {}, &Route::prefix);
  keep_last(added);
  check_ports(added);
  std::vector<Prefix> removed;
  std::ranges::copy_if(gone, std::back_inserter(removed), [&](const Prefix& prefix) {
    return route_of(routes_, prefix) != nullptr && route_of(added, prefix) == nullptr;
  });
  std::ranges::sort(removed);
  removed.erase(std::unique(removed.begin(), removed.end()), removed.end());
  if (!trie_ || !patch(added, removed)) load(changed_routes(added, removed));
}

std::vector<Route> RouteTable::changed_routes(const std::vector<Route>& set, const std::vector<Prefix>& gone) const {
  std::vector<Route> routes;
  routes.reserve(routes_.size() + set.size());
  std::ranges::copy_if(routes_, std::back_inserter(routes), [&](const Route& route) {
    return !std::ranges::binary_search(gone, route.prefix) && route_of(set, route.prefix) == nullptr;
  });
  const auto old = static_cast<ptrdiff_t>(routes.size());
  routes.insert(routes.end(), set.begin(), set.end());
  std::ranges::inplace_merge(routes, routes.begin() + old, {}, &Route::prefix);
  return routes;
}

bool RouteTable::patch(const std::vector<Route>& set, const std::vector<Prefix>& gone) {
  constexpr size_t kFew = 16;  // for which all routes are not copied
  if (!trie_->has_room(set)) return false;
  for (const Route& route : set)  // what may fail does so before anything has changed
    if (route.hop.gateway != Address{}) number_of(route.hop.gateway);
  if (set.size() + gone.size() > kFew) {
    routes_ = changed_routes(set, gone);
  } else {
    const auto place = [this](const Prefix& prefix) {
      return std::ranges::lower_bound(routes_, prefix, {}, &Route::prefix);
    };
    for (const Route& route : set) {
      const auto at = place(route.prefix);
      if (at != routes_.end() && at->prefix == route.prefix)
        at->hop = route.hop;
      else
        routes_.insert(at, route);
    }
    for (const Prefix& prefix : gone) routes_.erase(place(prefix));
  }
  std::vector<Trie::Gone> leaving;
  for (const Prefix& prefix : gone) {
    const Route* cover = nullptr;
    for (uint8_t length = prefix.length; cover == nullptr && length > 0;)
      cover = route_of(routes_, prefix_of(prefix.address, --length));
    leaving.push_back({prefix, cover});
  }
  trie_->change(set, leaving, [this](size_t offset, std::span<const std::byte> bytes) { changed(offset, bytes); });
  return true;
}

std::optional<Hop> RouteTable::find(Prefix prefix) const {
  const Route* route = route_of(routes_, prefix);
  return route != nullptr ? std::optional(route->hop) : std::nullopt;
}

std::optional<Hop> RouteTable::lookup(Address address) const {
  for (int length = 128; length >= 0; --length)
    if (const auto hop = find(prefix_of(address, static_cast<uint8_t>(length)))) return hop;
  return std::nullopt;
}

}  // namespace heddle::ip6_lookup
