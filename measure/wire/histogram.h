#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::bench {

/** Counts values from 0 to 2^40 - 1 (in nanoseconds: 18 minutes) with three significant digits, as HdrHistogram (Tene)
 *  does: 2048 buckets of width 1, then 1024 more for each further power of two, so that a bucket is never wider than a
 *  thousandth of what it holds. Recording takes a few instructions. Larger values count as the largest. */
class Histogram {
 public:
  static constexpr int kValueBits = 40;
  static constexpr uint64_t kLargest = (uint64_t{1} << kValueBits) - 1;

  Histogram() : counts_(index_of(kLargest) + 1) {}

  void record(uint64_t value, uint64_t times = 1) { counts_[index_of(std::min(value, kLargest))] += times; }
  void merge(const Histogram& other);
  void clear() { std::fill(counts_.begin(), counts_.end(), 0); }

  uint64_t count() const;
  uint64_t count_from(uint64_t value) const;  ///< that are in `value`'s bucket or above
  /** The value that `percent` (0 to 100) of all are not above, as far as buckets tell: the largest of its bucket. 0
   *  when there is none. */
  uint64_t percentile(double percent) const;
  uint64_t min() const;  ///< the smallest value of the lowest bucket that is not empty
  uint64_t max() const { return percentile(100); }
  double mean() const;
  double deviation() const;  ///< standard deviation

  /** The distribution as HdrHistogram prints it (.hgrm), for its plotter: values are divided by `unit` (1000: ns to
   *  us), `ticks` lines each time the distance to 100 % halves. */
  std::string percentile_text(double unit, int ticks = 5) const;

  static size_t index_of(uint64_t value) {
    const int shift = std::max(0, static_cast<int>(std::bit_width(value)) - kBits);
    return (static_cast<size_t>(shift) << (kBits - 1)) + (value >> shift);
  }
  /** The largest value that is counted where `index` says. */
  static uint64_t highest_of(size_t index) {
    const size_t shift = index < 2 * kHalf ? 0 : index / kHalf - 1;
    return ((index - shift * kHalf + 1) << shift) - 1;
  }

 private:
  static constexpr int kBits = 11;  ///< of a value that are kept: 2^10 steps in a power of two are three digits
  static constexpr size_t kHalf = size_t{1} << (kBits - 1);

  double middle_of(size_t index) const;

  std::vector<uint64_t> counts_;
};

}  // namespace heddle::bench
