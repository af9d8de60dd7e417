#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace heddle::nids {

/** A number of 128 bits: an IPv6 address, whose first byte is the highest, or an IPv4 address. */
__extension__ using Wide = unsigned __int128;

/** A set of numbers (addresses, ports): ascending ranges, both ends inside, that do not touch. */
template <class T>
class RangesOf {
 public:
  struct Range {
    T low, high;
    auto operator<=>(const Range&) const = default;
  };
  RangesOf() = default;
  RangesOf(T low, T high) : ranges_{{low, high}} {}
  /** What is in any of these, which may be in any order and overlap. */
  explicit RangesOf(std::vector<Range> ranges);

  bool contains(T value) const;
  bool empty() const { return ranges_.empty(); }
  const std::vector<Range>& all() const { return ranges_; }

  /** Those of 0..`largest` that are not in the set. */
  RangesOf inverted(T largest) const;
  auto operator<=>(const RangesOf&) const = default;

 private:
  std::vector<Range> ranges_;
};
extern template class RangesOf<uint32_t>;
extern template class RangesOf<Wide>;
using Ranges = RangesOf<uint32_t>;

constexpr uint32_t kLargestIp4 = ~uint32_t{0};
constexpr Wide kLargestIp6 = ~Wide{0};

/** A set of addresses of both versions, host byte order. */
struct Addresses {
  Ranges ip4;
  RangesOf<Wide> ip6;

  bool contains(bool is_ip6, Wide address) const {
    return is_ip6 ? ip6.contains(address) : ip4.contains(static_cast<uint32_t>(address));
  }
  bool empty() const { return ip4.empty() && ip6.empty(); }
  bool operator==(const Addresses&) const = default;
};

}  // namespace heddle::nids
