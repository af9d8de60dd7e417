#include "measure/wire/histogram.h"

#include <cmath>

#include "core/error.h"

namespace heddle::bench {

void Histogram::merge(const Histogram& other) {
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

uint64_t Histogram::count() const {
  uint64_t sum = 0;
  for (const uint64_t n : counts_) sum += n;
  return sum;
}

uint64_t Histogram::count_from(uint64_t value) const {
  uint64_t sum = 0;
  for (size_t i = index_of(std::min(value, kLargest)); i < counts_.size(); ++i) sum += counts_[i];
  return sum;
}

uint64_t Histogram::percentile(double percent) const {
  const uint64_t all = count();
  const auto wanted =
      std::max(uint64_t{1}, static_cast<uint64_t>(std::ceil(percent / 100 * static_cast<double>(all) - 1e-9)));
  uint64_t sum = 0;
  for (size_t i = 0; i < counts_.size(); ++i)
    if ((sum += counts_[i]) >= wanted) return highest_of(i);
  return 0;
}

uint64_t Histogram::min() const {
  for (size_t i = 0; i < counts_.size(); ++i)
    if (counts_[i] != 0) return i == 0 ? 0 : highest_of(i - 1) + 1;
  return 0;
}

double Histogram::middle_of(size_t index) const {
  const double below = index == 0 ? -1 : static_cast<double>(highest_of(index - 1));
  return (below + 1 + static_cast<double>(highest_of(index))) / 2;
}

double Histogram::mean() const {
  double sum = 0;
  for (size_t i = 0; i < counts_.size(); ++i) sum += static_cast<double>(counts_[i]) * middle_of(i);
  const uint64_t all = count();
  return all == 0 ? 0 : sum / static_cast<double>(all);
}

double Histogram::deviation() const {
  const double mean = this->mean();
  double sum = 0;
  for (size_t i = 0; i < counts_.size(); ++i)
    if (counts_[i] != 0) sum += static_cast<double>(counts_[i]) * (middle_of(i) - mean) * (middle_of(i) - mean);
  const uint64_t all = count();
  return all == 0 ? 0 : std::sqrt(sum / static_cast<double>(all));
}

std::string Histogram::percentile_text(double unit, int ticks) const {
  std::string text = format("%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
  const uint64_t all = count();
  const uint64_t largest = max();
  double percent = 0;
  while (all != 0) {
    const uint64_t value = percentile(percent);
    const uint64_t below = all - count_from(value + 1);
    if (value >= largest) break;
    // The share that is really at or below the value goes beside it, as HdrHistogram's iterator gives its own level.
    text += format("%12.3f %2.12f %10llu %14.2f\n", static_cast<double>(value) / unit, percent / 100,
                   static_cast<unsigned long long>(below), 1 / (1 - percent / 100));
    // `ticks` steps from here to where half of the rest is left.
    const double halvings = std::floor(std::log2(100 / (100 - percent))) + 1;
    percent += 100 / (ticks * std::exp2(halvings));
  }
  if (all != 0)
    text += format("%12.3f %2.12f %10llu\n", static_cast<double>(largest) / unit, 1.0,
                   static_cast<unsigned long long>(all));
  text += format("#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", mean() / unit, deviation() / unit);
  text += format("#[Max     = %12.3f, Total count    = %12llu]\n", static_cast<double>(largest) / unit,
                 static_cast<unsigned long long>(all));
  text += format("#[Buckets = %12d, SubBuckets     = %12d]\n", kValueBits - kBits + 1, 1 << kBits);
  return text;
}

}  // namespace heddle::bench
