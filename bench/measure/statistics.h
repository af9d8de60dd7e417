#pragma once

#include <cstddef>
#include <vector>

namespace heddle::bench {

/** What repeated measurements of one value say. */
struct Summary {
  double median = 0;
  double low = 0, high = 0;     ///< 95 % confidence interval of the median, or the extremes of fewer than six samples
  std::vector<double> samples;  ///< in the order in which they were measured
};

/** At least one sample. */
Summary summarise(std::vector<double> samples);

/** Of pairs that were measured in turn: a[i] / b[i]; as many as the shorter list has. */
std::vector<double> paired_ratios(const std::vector<double>& a, const std::vector<double>& b);

/** How many of `n` sorted samples to leave out at each end, so that those left span the median with 95 % confidence
 *  whatever the distribution: the number of samples below the median is binomial (n, 1/2). */
size_t outside_interval(size_t n);

}  // namespace heddle::bench
