#include "functions/ip_lookup/direct_table.h"

#include <algorithm>
#include <unordered_set>

namespace heddle::ip_lookup {
namespace {

constexpr uint8_t kInGroup = 255;  // an owner24 value: the owners are in owner8

/** The image and, by entry, the length of the prefix that owns it (0: the default route, or none). */
struct Memory {
  DirectImage image;
  uint8_t owner24[1 << 24];  ///< kInGroup where the entry points to a group
  uint8_t owner8[kGroups][kGroupEntries];
};

Memory& memory_of(std::byte* memory) { return *reinterpret_cast<Memory*>(memory); }
const Memory& memory_of(const std::byte* memory) { return *reinterpret_cast<const Memory*>(memory); }

}  // namespace

DirectTable::DirectTable()
    : RouteTable(sizeof(DirectImage), sizeof(Memory), kGroups, "/24 networks with routes longer than /24"),
      group_routes_(kGroups),
      form_(&direct_forms().front()) {}

const DirectImage& DirectTable::image() const { return memory_of(memory()).image; }

size_t DirectTable::blocks_needed(std::span<const Route> routes, bool empty) const {
  std::unordered_set<uint32_t> groups;
  for (const Route& route : routes)
    if (route.length > 24 && (empty || memory_of(memory()).owner24[route.address >> 8] != kInGroup))
      groups.insert(route.address >> 8);
  return groups.size();
}

void DirectTable::set_entries(const Route& route, uint16_t hop, bool is_new) {
  const uint32_t slot = route.address >> 8;
  if (route.length > 24 && memory_of(memory()).owner24[slot] != kInGroup) {
    open_group(route, hop);
  } else {
    if (route.length > 24 && is_new) ++group_routes_[image().tbl24[slot] - kFirstGroup];
    paint(route.address, route.length, hop, route.length);
  }
}

void DirectTable::clear_entries(uint32_t address, uint32_t length, uint16_t cover, uint8_t cover_length) {
  if (length > 24 && --group_routes_[image().tbl24[address >> 8] - kFirstGroup] == 0) {
    close_group(address >> 8, cover, cover_length);
  } else {
    paint(address, length, cover, cover_length);
  }
}

/** The /24 of a route longer than that gets its group: complete first, then pointed to. */
void DirectTable::open_group(const Route& route, uint16_t hop) {
  Memory& at = memory_of(memory());
  const uint32_t slot = route.address >> 8, group = take_block();
  const uint32_t first = route.address & 255, last = first + (1u << (32 - route.length)) - 1;
  Run run;
  for (uint32_t i = 0; i < kGroupEntries; ++i) {
    const bool mine = first <= i && i <= last;
    __atomic_store_n(&at.image.tbl8[group][i], mine ? hop : at.image.tbl24[slot], __ATOMIC_RELAXED);
    at.owner8[group][i] = mine ? route.length : at.owner24[slot];
  }
  changed(run, at.image.tbl8[group], sizeof at.image.tbl8[group]);
  report(run);
  publish(at.image.tbl24[slot], static_cast<uint16_t>(kFirstGroup + group), run);
  report(run);
  at.owner24[slot] = kInGroup;
  group_routes_[group] = 1;
}

/** The last route longer than /24 has left a /24: its entry answers for all of it again. */
void DirectTable::close_group(uint32_t slot, uint16_t hop, uint8_t owner) {
  Memory& at = memory_of(memory());
  const uint32_t group = at.image.tbl24[slot] - kFirstGroup;
  Run run;
  publish(at.image.tbl24[slot], hop, run);
  report(run);
  at.owner24[slot] = owner;
  retire_block(group);
}

/** Gives the prefix's entries that no longer prefix owns to `hop`, on behalf of a prefix of length `owner`. */
void DirectTable::paint(uint32_t address, uint32_t length, uint16_t hop, uint8_t owner) {
  Memory& at = memory_of(memory());
  const uint32_t slot = address >> 8;
  Run first_level, second_level;
  const auto paint_group = [&](uint32_t group, uint32_t first, uint32_t count) {
    paint_entries(&at.image.tbl8[group][first], &at.owner8[group][first], count, length, hop, owner, second_level,
                  [](uint32_t) {});
  };
  if (length > 24)
    paint_group(at.image.tbl24[slot] - kFirstGroup, address & 255, 1u << (32 - length));
  else
    paint_entries(&at.image.tbl24[slot], &at.owner24[slot], 1u << (24 - length), length, hop, owner, first_level,
                  [&](uint32_t i) {
                    if (at.owner24[slot + i] == kInGroup)
                      paint_group(at.image.tbl24[slot + i] - kFirstGroup, 0, kGroupEntries);
                  });
  report(first_level);
  report(second_level);
}

/** Of `count` entries, those that no prefix longer than `length` owns, a stretch of them at a time; calls `is_other`
 *  with the places of the others. */
template <class IsOther>
void DirectTable::paint_entries(uint16_t* entries, uint8_t* owners, uint32_t count, uint32_t length, uint16_t hop,
                                uint8_t owner, Run& run, const IsOther& is_other) {
  for (uint32_t first = 0; first < count;) {
    if (owners[first] > length) {
      is_other(first++);
      continue;
    }
    uint32_t end = first + 1;
    while (end < count && owners[end] <= length) ++end;
    publish(std::span(entries + first, entries + end), hop, run);
    std::fill(owners + first, owners + end, owner);
    first = end;
  }
}

}  // namespace heddle::ip_lookup
