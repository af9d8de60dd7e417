#include "bench/bench.h"

#include <time.h>

#include <algorithm>

#include "measure/campaign/statistics.h"

namespace heddle::bench {

std::vector<Benchmark>& benchmarks() {
  static std::vector<Benchmark> all;
  return all;
}

namespace {

double seconds_by(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

double seconds_now() { return seconds_by(CLOCK_MONOTONIC); }
double cpu_seconds() { return seconds_by(CLOCK_THREAD_CPUTIME_ID); }
double process_cpu_seconds() { return seconds_by(CLOCK_PROCESS_CPUTIME_ID); }

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())))];
}

namespace {

void summarise_ratios(Result& result, const std::vector<double>& ratios) {
  const Summary summary = summarise(ratios);
  result.ratio = summary.median, result.low = summary.low, result.high = summary.high;
}

}  // namespace

Result paired(const std::string& name, const std::string& unit, double target, int rounds,
              const std::function<double()>& ours, const std::function<double()>& baseline) {
  std::vector<double> values, baselines, ratios;
  ours(), baseline();
  for (int round = 0; round < rounds; ++round) {
    double value = 0, base = 0;
    if (round % 2 == 0)
      value = ours(), base = baseline();
    else
      base = baseline(), value = ours();
    values.push_back(value), baselines.push_back(base), ratios.push_back(value / base);
  }
  Result result;
  result.name = name, result.unit = unit, result.target = target;
  result.value = percentile(values, 0.5), result.baseline = percentile(baselines, 0.5);
  summarise_ratios(result, ratios);
  return result;
}

Result absolute(const std::string& name, const std::string& unit, double figure, bool smaller_is_better, int rounds,
                const std::function<double()>& ours) {
  std::vector<double> values, ratios;
  ours();
  for (int round = 0; round < rounds; ++round) {
    const double value = ours();
    values.push_back(value), ratios.push_back(smaller_is_better ? figure / value : value / figure);
  }
  Result result;
  result.name = name, result.unit = unit, result.target = 1, result.baseline = figure;
  result.value = percentile(values, 0.5);
  summarise_ratios(result, ratios);
  return result;
}

}  // namespace heddle::bench
