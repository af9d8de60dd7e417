#include "functions/nids/ranges.h"

#include <algorithm>

namespace heddle::nids {

bool Ranges::contains(uint32_t value) const {
  const auto at = std::ranges::lower_bound(ranges_, value, {}, &Range::high);
  return at != ranges_.end() && at->low <= value;
}

void Ranges::add(const Ranges& others) {
  ranges_.insert(ranges_.end(), others.ranges_.begin(), others.ranges_.end());
  std::ranges::sort(ranges_, {}, &Range::low);
  std::vector<Range> joined;
  for (const Range& range : ranges_) {
    if (joined.empty() || uint64_t{joined.back().high} + 1 < range.low)
      joined.push_back(range);
    else
      joined.back().high = std::max(joined.back().high, range.high);
  }
  ranges_ = std::move(joined);
}

Ranges Ranges::inverted(uint32_t largest) const {
  Ranges result;
  uint64_t next = 0;
  for (const Range& range : ranges_) {
    if (range.low > next) result.ranges_.push_back({static_cast<uint32_t>(next), range.low - 1});
    next = uint64_t{range.high} + 1;
  }
  if (next <= largest) result.ranges_.push_back({static_cast<uint32_t>(next), largest});
  return result;
}

}  // namespace heddle::nids
