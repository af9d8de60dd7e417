#include "functions/ipsec/selectors.h"

#include <arpa/inet.h>

#include <algorithm>

#include "core/load.h"
#include "functions/ipsec/rule.h"

namespace heddle::ipsec {

Selector::Ends ends_of(const uint8_t* header, uint32_t available) {
  using Family = Selector::Family;
  if (available >= kIp4Bytes && header[0] >> 4 == 4)
    return {Family::ip4, mapped(ntohl(load_u32(header + 12))), mapped(ntohl(load_u32(header + 16)))};
  if (available >= kIp6Bytes && header[0] >> 4 == 6) return {Family::ip6, address6(header + 8), address6(header + 24)};
  return {};
}

void Selectors::add(const Selector& selector, uint32_t index) {
  by_destination_.emplace(key(selector.destination.address, selector.destination.length), Entry{selector, index});
  lengths_.set(selector.destination.length);
}

uint32_t Selectors::find(const Selector::Ends& ends) const {
  if (ends.family == Selector::Family::any) return kNone;
  for (uint32_t length = 129; length-- > 0;) {
    if (!lengths_[length]) continue;
    uint32_t first = kNone;
    const auto [begin, end] = by_destination_.equal_range(key(ends.destination, length));
    for (auto it = begin; it != end; ++it) {
      if (it->second.selector.has(ends)) first = std::min(first, it->second.index);
    }
    if (first != kNone) return first;
  }
  return kNone;
}

}  // namespace heddle::ipsec
