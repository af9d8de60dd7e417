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
  memory_.assign(sizeof(SelectorImage) + count * sizeof(Entry) + slot_count * sizeof(uint32_t), std::byte{});
  auto& image = *new (memory_.data()) SelectorImage{count, slot_count - 1, 0, {}};
  auto* const entries = reinterpret_cast<Entry*>(memory_.data() + sizeof image);
  auto* const slots = reinterpret_cast<uint32_t*>(entries + count);
  const auto order_of = [&](uint32_t i) {
    const Prefix& to = list[i].destination;
    return std::tuple(-int{to.length}, SelectorImage::key(to.address, to.length), i);
  };
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, order_of);
  for (uint32_t e = 0; e < count; ++e) {
    const Prefix& to = list[order[e]].destination;
    const Address key = SelectorImage::key(to.address, to.length);
    new (entries + e) Entry{list[order[e]], order[e]};
    if (e > 0 && image.is(e - 1, key, to.length)) continue;
    if (e == 0 || entries[e - 1].selector.destination.length != to.length)
      image.lengths[image.length_count++] = to.length;
    uint32_t at = SelectorImage::hash(key, to.length) & image.slot_mask;
    while (slots[at] != 0) at = (at + 1) & image.slot_mask;
    slots[at] = e + 1;
  }
}

}  // namespace heddle::ipsec
