#include "bench/measure/statistics.h"

#include <algorithm>
#include <cmath>

namespace heddle::bench {

size_t outside_interval(size_t n) {
  // The interval from the k-th smallest to the k-th largest misses the median with probability 2 P(fewer than k below).
  double tail = 0, term = std::pow(0.5, static_cast<double>(n));  // P(exactly k below)
  size_t k = 0;
  for (; k < n / 2; ++k) {
    tail += term;
    if (tail > 0.025) break;
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
  }
  return k == 0 ? 0 : k - 1;
}

Summary summarise(std::vector<double> samples) {
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  const size_t n = sorted.size(), out = outside_interval(n);
  return {(sorted[(n - 1) / 2] + sorted[n / 2]) / 2, sorted[out], sorted[n - 1 - out], std::move(samples)};
}

std::vector<double> paired_ratios(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) ratios.push_back(a[i] / b[i]);
  return ratios;
}

}  // namespace heddle::bench
