#include "functions/ip_lookup/linear_table.h"

#include <algorithm>
#include <cstring>

namespace heddle::ip_lookup {
namespace {

uint64_t key_of(uint64_t entry) { return entry >> kOpenBitsShift; }
uint64_t key_of(uint32_t address, uint32_t length) { return key_of(linear_entry(address, length, 0)); }

/** Four numbers that a processor compares at once. */
using Four = uint32_t __attribute__((vector_size(16)));
constexpr int kFours = 4, kTogether = 4 * kFours;

/** linear_lookup() of kTogether addresses: the search goes on until all have a route. */
void look_up_together(const LinearImage& image, const uint32_t* wanted, uint16_t* out) {
  Four addresses[kFours];
  std::memcpy(addresses, wanted, sizeof addresses);
  for (uint64_t before = ROUTE_ENTRY(uint64_t, &image.state);;) {
    const auto end = static_cast<uint32_t>(before);
    Four hops[kFours] = {};
    for (uint32_t i = 0; i < end; ++i) {
      const uint64_t entry = ROUTE_ENTRY(uint64_t, &image.entries[i]);
      if ((entry & kEmptyEntry) != 0) continue;
      const auto address = static_cast<uint32_t>(entry >> kAddressShift);
      const auto mask = static_cast<uint32_t>(~uint64_t{0} << (entry >> kOpenBitsShift & 63));
      const auto hop = static_cast<uint32_t>(entry & 0xffff);
      Four missing{};
      for (int k = 0; k < kFours; ++k) {
        const auto is_open = reinterpret_cast<Four>(hops[k] == 0);
        const auto matches = reinterpret_cast<Four>(((addresses[k] ^ address) & mask) == 0);
        hops[k] |= is_open & matches & hop;
        missing |= is_open & ~matches;
      }
      if ((missing[0] | missing[1] | missing[2] | missing[3]) == 0) break;
    }
    ROUTE_FENCE();
    const uint64_t after = ROUTE_ENTRY(uint64_t, &image.state);
    if (after == before) {
      for (int k = 0; k < kTogether; ++k) out[k] = static_cast<uint16_t>(hops[k / 4][k % 4]);
      return;
    }
    before = after;
  }
}

}  // namespace

// Its blocks are not handed out: entries come and go in place, and none is ever retired.
LinearTable::LinearTable() : RouteTable(sizeof(LinearImage), sizeof(LinearImage), kLinearEntries, "routes") {}

size_t LinearTable::blocks_needed(std::span<const Route> routes, bool empty) const {
  if (empty) return routes.size();
  size_t fresh = 0, usable = 0;  // empty entries that any of them could take: those of shorter lengths
  uint32_t shortest = 32;
  for (const Route& route : routes) {
    if (at_.contains(key_of(route.address, route.length))) continue;
    ++fresh;
    shortest = std::min<uint32_t>(shortest, route.length);
  }
  for (uint32_t length = 0; length <= shortest; ++length) usable += empty_[length].size();
  return fresh <= usable ? 0 : end_[0] + fresh - usable;
}

void LinearTable::store(uint32_t place, uint64_t entry) {
  Run run;  // each change on its own: their order counts
  publish(image().entries[place], entry, run);
  report(run);
}

/** Readers go to `count` from now on, and those under way begin again. */
void LinearTable::finish_change(uint32_t count) {
  Run run;
  const uint64_t changes = (image().state >> kChangesShift) + 1;
  publish(image().state, changes << kChangesShift | count, run);
  report(run);
}

void LinearTable::set_entries(const Route& route, uint16_t hop, bool is_new) {
  const uint64_t key = key_of(route.address, route.length);
  if (is_new) at_[key] = take_entry(route.length);
  store(at_[key], linear_entry(route.address, route.length, hop));
  finish_change(end_[0]);
}

/** An entry among those of `length`; what it holds also stands elsewhere, or it is empty. */
uint32_t LinearTable::take_entry(uint32_t length) {
  uint32_t from = length;  // the nearest length, this or a shorter one, that has an empty entry
  while (from > 0 && empty_[from].empty()) --from;
  uint32_t free;
  if (!empty_[from].empty()) {
    free = *empty_[from].begin();
    empty_[from].erase(empty_[from].begin());
  } else {
    free = end_[0]++;
    store(free, kEmptyEntry);
    finish_change(end_[0]);
  }
  for (uint32_t shorter = from; shorter < length; ++shorter) {
    const uint32_t first = end_[shorter + 1]++;
    if (first != free) {
      const uint64_t moved = image().entries[first];
      store(free, moved);
      at_[key_of(moved)] = free;
    }
    free = first;
  }
  return free;
}

void LinearTable::clear_entries(uint32_t address, uint32_t length, uint16_t, uint8_t) {
  const auto place = at_.find(key_of(address, length));
  store(place->second, kEmptyEntry);
  empty_[length].insert(place->second);
  at_.erase(place);
  drop_empty_end();
}

void LinearTable::drop_empty_end() {
  uint32_t count = end_[0];
  for (uint32_t length = 0; length <= 32; ++length) {
    while (count > end_[length + 1] && !empty_[length].empty() && *empty_[length].rbegin() == count - 1) {
      empty_[length].erase(--count);
    }
    std::fill_n(end_.begin(), length + 1, count);
    if (count > end_[length + 1]) break;
  }
  finish_change(count);
}

void LinearTable::forget() {
  end_.fill(0);
  for (auto& places : empty_) places.clear();
  at_.clear();
}

void LinearTable::lookup_bulk(const uint32_t* addresses, uint16_t* out, int n) const {
  int i = 0;
  for (; i + kTogether <= n; i += kTogether) look_up_together(image(), addresses + i, out + i);
  for (; i < n; ++i) out[i] = hop_of(image(), addresses[i]);
}

}  // namespace heddle::ip_lookup
