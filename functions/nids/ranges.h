#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace heddle::nids {

/** A set of numbers (addresses, ports): ascending ranges, both ends inside, that do not touch. */
class Ranges {
 public:
  struct Range {
    uint32_t low, high;
    auto operator<=>(const Range&) const = default;
  };
  Ranges() = default;
  Ranges(uint32_t low, uint32_t high) : ranges_{{low, high}} {}
  /** What is in any of these, which may be in any order and overlap. */
  explicit Ranges(std::vector<Range> ranges);

  bool contains(uint32_t value) const;
  bool empty() const { return ranges_.empty(); }
  const std::vector<Range>& all() const { return ranges_; }

  /** Those of 0..`largest` that are not in the set. */
  Ranges inverted(uint32_t largest) const;
  auto operator<=>(const Ranges&) const = default;

 private:
  std::vector<Range> ranges_;
};

}  // namespace heddle::nids
