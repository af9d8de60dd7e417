#include "functions/nids/ranges.h"

#include <algorithm>

namespace heddle::nids {

template <class T>
RangesOf<T>::RangesOf(std::vector<Range> ranges) {
  std::ranges::sort(ranges, {}, &Range::low);
  for (const Range& range : ranges) {
    if (ranges_.empty() || (ranges_.back().high < range.low && range.low - ranges_.back().high > 1))
      ranges_.push_back(range);
    else
      ranges_.back().high = std::max(ranges_.back().high, range.high);
  }
}

template <class T>
bool RangesOf<T>::contains(T value) const {
  const auto at = std::ranges::lower_bound(ranges_, value, {}, &Range::high);
  return at != ranges_.end() && at->low <= value;
}

template <class T>
RangesOf<T> RangesOf<T>::inverted(T largest) const {
  RangesOf result;
  T next = 0;
  for (const Range& range : ranges_) {
    if (range.low > next) result.ranges_.push_back({next, range.low - 1});
    if (range.high >= largest) return result;
    next = range.high + 1;
  }
  result.ranges_.push_back({next, largest});
  return result;
}

template class RangesOf<uint32_t>;
template class RangesOf<Wide>;

}  // namespace heddle::nids
