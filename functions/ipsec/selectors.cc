#include "functions/ipsec/selectors.h"

#include <algorithm>
#include <bit>
#include <new>
#include <numeric>
#include <tuple>

#include "core/load.h"

namespace heddle::ipsec {

Selector::Ends ends_of(const uint8_t* header, uint32_t available) {
  return ends_from([header](uint32_t at) { return load_u32(header + at); }, available);
}

void Selectors::load(std::span<const Selector> list) {
  using Entry = SelectorImage::Entry;
  const auto count = static_cast<uint32_t>(list.size());
  const uint32_t slot_count = std::bit_ceil(2 * count + 1);
  const auto key = [](const Prefix& prefix) { return SelectorImage::key(prefix.address, prefix.length); };
  const auto order_of = [&](uint32_t i) {
    const Prefix& to = list[i].destination;
    return std::tuple(-int{to.length}, key(to), i);
  };
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, order_of);
  std::vector<std::pair<uint32_t, uint32_t>> groups;  // the first entry of each destination, and how many have it
  uint32_t many = 0;                                  // entries whose sources get slots
  for (uint32_t e = 0; e < count; e += groups.back().second) {
    const auto order_of_destination = [&](uint32_t i) {
      return std::tuple(list[i].destination.length, key(list[i].destination));
    };
    uint32_t end = e + 1;
    while (end < count && order_of_destination(order[end]) == order_of_destination(order[e])) ++end;
    groups.emplace_back(e, end - e);
    if (end - e > SelectorImage::kLooked) many += end - e;
  }
  const uint32_t source_slot_count = std::bit_ceil(2 * many + 1);
  memory_.assign(
      sizeof(SelectorImage) + count * sizeof(Entry) + (size_t{slot_count} + source_slot_count) * sizeof(uint32_t),
      std::byte{});
  auto& image = *new (memory_.data()) SelectorImage{count, slot_count - 1, source_slot_count - 1, {}, {}};
  auto* const entries = reinterpret_cast<Entry*>(memory_.data() + sizeof image);
  auto* const slots = reinterpret_cast<uint32_t*>(entries + count);
  auto* const source_slots = slots + slot_count;
  for (uint32_t e = 0; e < count; ++e) new (entries + e) Entry{list[order[e]], order[e], 0};
  const auto add_length = [](SelectorImage::Lengths& lengths, uint8_t length) {
    if (std::find(lengths.list, lengths.list + lengths.count, length) == lengths.list + lengths.count)
      lengths.list[lengths.count++] = length;
  };
  for (const auto& [first, alike] : groups) {
    entries[first].alike = alike;
    const Prefix& to = entries[first].selector.destination;
    add_length(image.lengths, to.length);
    uint32_t at = SelectorImage::hash(key(to), to.length) & image.slot_mask;
    while (slots[at] != 0) at = (at + 1) & image.slot_mask;
    slots[at] = first + 1;
    if (alike <= SelectorImage::kLooked) continue;
    for (uint32_t e = first; e < first + alike; ++e) {
      const Selector& mine = entries[e].selector;
      const auto is_mine = [&](const Selector& other) {
        return other.family == mine.family && other.source.length == mine.source.length &&
               key(other.source) == key(mine.source);
      };
      add_length(image.source_lengths, mine.source.length);
      at = SelectorImage::hash(first, key(mine.source), mine.source.length) & image.source_slot_mask;
      while (source_slots[at] != 0) {
        const uint32_t other = source_slots[at] - 1;
        if (other >= first && is_mine(entries[other].selector)) break;  // which comes before this one
        at = (at + 1) & image.source_slot_mask;
      }
      if (source_slots[at] == 0) source_slots[at] = e + 1;
    }
  }
}

}  // namespace heddle::ipsec
