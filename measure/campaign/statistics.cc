#include "measure/campaign/statistics.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

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

size_t Summary::measured() const {
  return static_cast<size_t>(
      std::count_if(samples.begin(), samples.end(), [](double sample) { return !std::isnan(sample); }));
}

double confidence(size_t n) {
  double tail = 0, term = std::pow(0.5, static_cast<double>(n));  // P(exactly k below)
  for (size_t k = 0; k <= outside_interval(n); ++k) {
    tail += term;
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
  }
  return std::max(0.0, 1 - 2 * tail);
}

std::string interval_name(size_t n) {
  const double percent = std::floor(100 * confidence(n));
  if (n < 2) return "single samples";
  return n < 6 ? format("range of %zu, %.0f %%", n, percent) : format("%.0f %% interval", percent);
}

Summary summarise(std::vector<double> samples) {
  std::vector<double> sorted;
  for (const double sample : samples)
    if (!std::isnan(sample)) sorted.push_back(sample);
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
