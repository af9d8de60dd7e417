#pragma once

#include <functional>
#include <string>
#include <vector>

namespace heddle::bench {

/** What a benchmark has measured. `ratio` is larger-is-better and what `target` speaks of. */
struct Result {
  std::string name, unit;
  double value = 0;          ///< of ours, median
  double baseline = 0;       ///< of what it is compared with, median; 0 = an absolute figure
  double ratio = 0;          ///< median of the paired ratios, or value / target figure
  double low = 0, high = 0;  ///< 95 % confidence interval of `ratio`, by order statistics
  double target = 0;         ///< of the ratio; 0 = none
  std::string note;
};

/** A benchmark: a name that ONLY= takes, where it can run, and the measurement. */
struct Benchmark {
  std::string name;
  bool needs_gpu;
  std::function<std::vector<Result>()> run;
};
std::vector<Benchmark>& benchmarks();
struct Register {
  Register(const char* name, bool needs_gpu, std::function<std::vector<Result>()> run) {
    benchmarks().push_back({name, needs_gpu, std::move(run)});
  }
};

/** Measures `ours` and `baseline` in turn, `rounds` times after one that does not count (the order changes each round);
 *  each returns a rate, larger is better. Single figures of shared machines swing by a quarter from second to second;
 *  the ratio of neighbours does not. */
Result paired(const std::string& name, const std::string& unit, double target, int rounds,
              const std::function<double()>& ours, const std::function<double()>& baseline);

/** An absolute figure against a stated one: ratio = value / figure (or figure / value when smaller is better). */
Result absolute(const std::string& name, const std::string& unit, double figure, bool smaller_is_better, int rounds,
                const std::function<double()>& ours);

double seconds_now();          ///< monotonic
double cpu_seconds();          ///< of this thread: on a shared machine the turns of others do not count
double process_cpu_seconds();  ///< of all threads
double process_cpu_seconds();  ///< of all threads
double percentile(std::vector<double> values, double share);

}  // namespace heddle::bench
