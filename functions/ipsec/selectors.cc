#include "functions/ipsec/selectors.h"

#include <algorithm>

namespace heddle::ipsec {

void Selectors::add(const Selector& selector, uint32_t index) {
  by_destination_.emplace(key(selector.destination.address, selector.destination.length), Entry{selector, index});
  lengths_.set(selector.destination.length);
}

uint32_t Selectors::find(Selector::Family family, Address source, Address destination) const {
  for (uint32_t length = 129; length-- > 0;) {
    if (!lengths_[length]) continue;
    uint32_t first = kNone;
    const auto [begin, end] = by_destination_.equal_range(key(destination, length));
    for (auto it = begin; it != end; ++it) {
      const Selector& selector = it->second.selector;
      const bool of_family = selector.family == Selector::Family::any || selector.family == family;
      if (of_family && selector.source.has(source)) first = std::min(first, it->second.index);
    }
    if (first != kNone) return first;
  }
  return kNone;
}

}  // namespace heddle::ipsec
