#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace heddle::bench {

/** What repeated measurements of one value say. */
struct Summary {
  double median = 0;
  double low = 0, high = 0;     ///< interval of the median: see confidence()
  std::vector<double> samples;  ///< one a repetition, in their order; NaN: a gap, it could not be measured then

  size_t measured() const;  ///< samples that are no gaps
};

/** At least one sample that is no gap. */
Summary summarise(std::vector<double> samples);

/** How sure it is that the interval that summarise() gives of `n` samples holds the median: 0.95 or more from six
 *  on. */
double confidence(size_t n);
/** That interval in words: "96 % interval"; "range of 3, 75 %"; "single samples". */
std::string interval_name(size_t n);

/** Of pairs that were measured in turn: a[i] / b[i]; as many as the shorter list has. A gap gives a gap. */
std::vector<double> paired_ratios(const std::vector<double>& a, const std::vector<double>& b);

/** How many of `n` sorted samples to leave out at each end, so that those left span the median with 95 % confidence
 *  whatever the distribution: the number of samples below the median is binomial (n, 1/2). */
size_t outside_interval(size_t n);

}  // namespace heddle::bench
