#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace heddle::bench {

/** Random numbers that are the same on every machine and with every library. The standard specifies its engines to the
 *  bit but leaves its distributions and std::shuffle to the library, and the last bit of std::pow to the processor; so
 *  these are ours, of IEEE additions, multiplications and divisions only. */
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  uint64_t bits() { return engine_(); }
  /** 0 to n - 1, each as likely as the other (n > 0): Lemire, "Fast Random Integer Generation in an Interval", 2019. */
  uint64_t below(uint64_t n);
  /** low to high, both included. */
  uint64_t between(uint64_t low, uint64_t high) { return low + below(high - low + 1); }
  /** 0 to 1, 1 excluded; a multiple of 2^-53. */
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  bool chance(double probability) { return unit() < probability; }

  template <class T>
  void shuffle(std::vector<T>& values) {
    for (size_t left = values.size(); left > 1; --left) std::swap(values[left - 1], values[below(left)]);
  }

 private:
  std::mt19937_64 engine_;
};

/** x^y for x > 0, within 1e-12 of it, and the same everywhere. */
double power(double x, double y);

/** Numbers 0 to weights.size() - 1, each with a probability in proportion to its weight (>= 0, not all 0). Walker's
 *  alias method: a draw takes the same short time for a million weights. */
class Discrete {
 public:
  explicit Discrete(std::span<const double> weights);
  size_t operator()(Random& random) const;

 private:
  std::vector<double> keep_;     ///< of column i: the share of i itself
  std::vector<uint32_t> alias_;  ///< the rest is this one's
};

/** The weights 1/1^exponent, 1/2^exponent, ... of Zipf's law for `count` ranks. */
std::vector<double> zipf_weights(size_t count, double exponent);

}  // namespace heddle::bench
