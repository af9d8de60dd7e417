#include "functions/nids/ranges.h"

#include <algorithm>

namespace heddle::nids {

Ranges::Ranges(std::vector<Range> ranges) {
  std::ranges::sort(ranges, {}, &Range::low);
  for (const Range& range : ranges) {
    if (ranges_.empty() || uint64_t{ranges_.back().high} + 1 < range.low)
      ranges_.push_back(range);
    else
      ranges_.back().high = std::max(ranges_.back().high, range.high);
  }
}

bool Ranges::contains(uint32_t value) const {
  const auto at = std::ranges::lower_bound(ranges_, value, {}, &Range::high);
  return at != ranges_.end() && at->low <= value;
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
