#include "bench/bench.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace heddle::bench {

std::vector<Benchmark>& benchmarks() {
  static std::vector<Benchmark> all;
  return all;
}

double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void pin(int k) {
  cpu_set_t allowed, mine;
  CPU_ZERO(&allowed);
  // The process's cores, not this thread's: it may be pinned already.
  if (sched_getaffinity(getpid(), sizeof allowed, &allowed) != 0) return;
  CPU_ZERO(&mine);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || k-- > 0) continue;
    CPU_SET(core, &mine);
    pthread_setaffinity_np(pthread_self(), sizeof mine, &mine);
    return;
  }
}

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())))];
}

namespace {

// The order statistics between which the median lies with 95 % confidence, whatever the distribution: values below it are
// binomial (n, 1/2). Returns how many to leave out at each end.
size_t left_out(size_t n) {
  double tail = 0, term = std::pow(0.5, static_cast<double>(n));  // P(exactly k below)
  for (size_t k = 0; k < n / 2; ++k) {
    tail += term;
    if (tail > 0.025) return k;
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
  }
  return n / 2;
}

void summarise(Result& result, std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  const size_t k = std::min(left_out(ratios.size()), (ratios.size() - 1) / 2);
  const size_t first = k == 0 ? 0 : k - 1;
  result.low = ratios[first], result.high = ratios[ratios.size() - 1 - first];
  result.ratio = percentile(ratios, 0.5);
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
  summarise(result, ratios);
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
  summarise(result, ratios);
  return result;
}

}  // namespace heddle::bench
