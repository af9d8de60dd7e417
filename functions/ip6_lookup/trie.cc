#include "functions/ip6_lookup/trie.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "core/error.h"
#include "functions/ip6_lookup/gateway.h"

namespace heddle::ip6_lookup {
namespace {

/** The level at which a prefix ends, 0 for the root. */
constexpr uint32_t level_of(uint32_t length) { return length <= kTrieRootBits ? 0 : (length - kTrieRootBits + 7) / 8; }
constexpr uint32_t kLevels = level_of(128) + 1;
/** Bits of an address that are used up behind a level. */
constexpr uint32_t bits_behind(uint32_t level) { return kTrieRootBits + 8 * level; }

bool is_group(uint32_t entry) { return entry >= kTrieGroup; }
uint32_t length_in(uint32_t entry) { return entry >> 16; }
uint32_t entry_of(uint32_t length, uint32_t value) { return length << 16 | value; }

size_t root_entry(const Address& address) { return address.high >> (64 - kTrieRootBits); }
size_t first_entry(uint32_t group) { return kTrieRootEntries + size_t{group} * kTrieGroupEntries; }
/** The entry of an address at a level below the root, whose group is that of `parent`. */
size_t entry_below(uint32_t parent, const Address& address, uint32_t level) {
  return first_entry(parent - kTrieGroup) + address_byte(address.high, address.low, kTrieRootBits / 8 + level - 1);
}

constexpr uint32_t kHops = UINT16_MAX + 1 - kFirstTree;
constexpr size_t kHopsAt = (sizeof(Image) + kLineBytes - 1) / kLineBytes * kLineBytes;
constexpr size_t kTrieAt = kHopsAt + kHops * sizeof(GatewayHop);
constexpr size_t kGroupBytes = kTrieGroupEntries * sizeof(uint32_t);
constexpr size_t bytes_with(size_t groups) {
  return kTrieAt + kTrieRootEntries * sizeof(uint32_t) + groups * kGroupBytes;
}

}  // namespace

Trie::Trie(std::span<const Route> routes, size_t most_bytes) {
  const size_t needed = groups_missing(routes, true);
  if (needed >= kTrieGroup || bytes_with(needed) > most_bytes)
    throw Error(format("%zu IPv6 routes need a trie of %zu MB, and MEMORY allows %zu MB", routes.size(),
                       (bytes_with(needed) >> 20) + 1, most_bytes >> 20));
  constexpr size_t kSpare = 1024;
  const size_t affordable = (most_bytes - bytes_with(0)) / kGroupBytes;
  groups_ = static_cast<uint32_t>(std::min({needed + needed / 4 + kSpare, affordable, size_t{kTrieGroup} - 1}));
  bytes_ = bytes_with(groups_);
  memory_ = map_huge_pages(bytes_);
  image_ = new (memory_.get()) Image{};
  image_->hops = kHopsAt;
  image_->first_hop = kFirstTree;
  image_->trie = kTrieAt;
  // Shorter ones first: each then finds its entries without groups in them.
  std::vector<const Route*> by_length;
  by_length.reserve(routes.size());
  for (const Route& route : routes) by_length.push_back(&route);
  std::ranges::stable_sort(by_length, {}, [](const Route* route) { return route->prefix.length; });
  for (const Route* route : by_length) set(*route);
}

/** Groups that have to be taken before all of `routes` are in an image that is as it is, or `empty`. */
size_t Trie::groups_missing(std::span<const Route> routes, bool empty) const {
  size_t missing = 0;
  std::array<Prefix, kLevels> last{};  // whose group has been counted last, by level
  for (const auto& [prefix, hop] : routes) {
    uint32_t entry = empty ? 0 : entries()[root_entry(prefix.address)];
    for (uint32_t level = 1; level <= level_of(prefix.length); ++level) {
      if (is_group(entry)) {
        entry = entries()[entry_below(entry, prefix.address, level)];
        continue;
      }
      const Prefix group = prefix_of(prefix.address, static_cast<uint8_t>(bits_behind(level - 1)));
      if (group == last[level]) continue;
      last[level] = group;
      ++missing;
    }
  }
  return missing;
}

bool Trie::has_room(std::span<const Route> routes) const {
  std::map<std::pair<Address, uint32_t>, uint32_t> hops;
  for (const auto& [prefix, hop] : routes)
    if (hop.gateway != Address{} && !values_.contains({hop.gateway, hop.port})) hops[{hop.gateway, hop.port}] = 0;
  return values_.size() + hops.size() <= kHops &&
         groups_missing(routes, false) <= free_.size() + (groups_ - next_group_);
}

/** The value that leads to `hop`, which has one from now on. */
uint32_t Trie::value_of(const Hop& hop) {
  if (hop.gateway == Address{}) return hop.port + 1;
  const auto [known, is_new] = values_.try_emplace({hop.gateway, hop.port}, kFirstTree + values_.size());
  if (is_new) {
    if (values_.size() > kHops)
      throw Error(
          format("IPv6 routes lead to more than %u pairs of gateway and output, which a trie cannot have", kHops));
    auto* at = reinterpret_cast<GatewayHop*>(reinterpret_cast<std::byte*>(image_) + image_->hops) + values_.size() - 1;
    *at = {number_of(hop.gateway), hop.port};
    report(at, sizeof *at);
  }
  return known->second;
}

void Trie::change(std::span<const Route> set, std::span<const Gone> gone, const Report& to) {
  report_ = &to;
  // Longer ones first: what they cover never has the new answer of a shorter one meanwhile.
  std::vector<Route> longest_first(set.begin(), set.end());
  std::ranges::stable_sort(longest_first, std::greater{}, [](const Route& route) { return route.prefix.length; });
  for (const Route& route : longest_first) this->set(route);
  for (const Gone& route : gone) remove(route);
  report_ = nullptr;
}

void Trie::set(const Route& route) {
  const auto& [address, length] = route.prefix;
  const uint32_t value = value_of(route.hop), last = level_of(length);
  size_t at = root_entry(address);
  for (uint32_t level = 1; level <= last; ++level) {
    if (!is_group(entries()[at])) open_group(at);
    at = entry_below(entries()[at], address, level);
  }
  paint(at, size_t{1} << (bits_behind(last) - length), length, entry_of(length, value));
}

void Trie::remove(const Gone& route) {
  const auto& [address, length] = route.prefix;
  const uint32_t last = level_of(length);
  std::array<size_t, kLevels> way{root_entry(address)};  // the entry at each level
  for (uint32_t level = 1; level <= last; ++level) way[level] = entry_below(entries()[way[level - 1]], address, level);
  const uint32_t cover = route.cover == nullptr ? 0 : entry_of(route.cover->prefix.length, value_of(route.cover->hop));
  paint(way[last], size_t{1} << (bits_behind(last) - length), length, cover);
  // A group goes when one prefix that the entry above it can have, too, has all of it.
  for (uint32_t level = last; level > 0; --level) {
    const size_t parent = way[level - 1];
    const std::span<const uint32_t> group(entries() + first_entry(entries()[parent] - kTrieGroup), kTrieGroupEntries);
    const uint32_t entry = group.front();
    if (is_group(entry) || length_in(entry) > bits_behind(level - 1) ||
        std::ranges::any_of(group, [entry](uint32_t other) { return other != entry; }))
      break;
    retired_.push_back(entries()[parent] - kTrieGroup);
    Run run;
    publish(parent, 1, entry, run);
    report(run);
  }
}

/** Puts a group in the place of an entry: complete first, then pointed to. */
void Trie::open_group(size_t parent) {
  uint32_t group = next_group_;
  if (!free_.empty())
    group = free_.back(), free_.pop_back();
  else
    ++next_group_;
  uint32_t* const first = entries() + first_entry(group);
  for (uint32_t i = 0; i < kTrieGroupEntries; ++i) __atomic_store_n(first + i, entries()[parent], __ATOMIC_RELAXED);
  report(first, kGroupBytes);
  Run run;
  publish(parent, 1, kTrieGroup + group, run);
  report(run);
}

/** Gives those of `count` entries, and of what is below them, that no prefix longer than `longest` has to `entry`. */
void Trie::paint(size_t first, size_t count, uint32_t longest, uint32_t entry) {
  Run run;
  uint32_t* const all = entries();
  for (size_t at = first, end = first + count; at < end;) {
    // Short prefixes have millions of entries, most of them as their neighbours.
    const uint32_t old = all[at];
    size_t alike = at + 1;
    while (alike < end && all[alike] == old) ++alike;
    if (is_group(old))
      paint(first_entry(old - kTrieGroup), kTrieGroupEntries, longest, entry);
    else if (length_in(old) <= longest && old != entry)
      publish(at, alike - at, entry, run);
    at = alike;
  }
  report(run);
}

/** Sets `count` entries from `at` on, of which a run of what is to be reported may have the ones before. */
void Trie::publish(size_t at, size_t count, uint32_t entry, Run& run) {
  constexpr size_t kNear = 64;  // entries: one patch costs more than these bytes
  for (uint32_t *to = entries() + at, *end = to + count; to < end; ++to) __atomic_store_n(to, entry, __ATOMIC_RELEASE);
  if (run.end != 0 && at - run.end > kNear) report(run), run = {};
  if (run.end == 0) run.begin = at;
  run.end = at + count;
}

void Trie::report(const Run& run) {
  if (run.end != 0) report(entries() + run.begin, (run.end - run.begin) * sizeof(uint32_t));
}

void Trie::report(const void* where, size_t bytes) {
  if (report_ == nullptr) return;
  const auto* at = static_cast<const std::byte*>(where);
  (*report_)(static_cast<size_t>(at - reinterpret_cast<const std::byte*>(image_)), {at, bytes});
}

size_t Trie::bytes_used() const { return bytes_with(next_group_ - free_.size() - retired_.size()); }

void Trie::reclaim() {
  free_.insert(free_.end(), retired_.begin(), retired_.end());
  retired_.clear();
}

}  // namespace heddle::ip6_lookup
