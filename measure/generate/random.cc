#include "measure/generate/random.h"

#include <cstdlib>

namespace heddle::bench {
namespace {

constexpr double kLn2 = 0.693147180559945309417;

// x = 2^k * m with m near 1; ln m = 2 artanh((m - 1) / (m + 1)).
double natural_logarithm(double x) {
  double two = 0;
  for (; x > 1.5; x /= 2) ++two;
  for (; x < 0.75; x *= 2) --two;
  const double ratio = (x - 1) / (x + 1), square = ratio * ratio;
  double sum = 0, term = ratio;
  for (int odd = 1; odd < 45; odd += 2, term *= square) sum += term / odd;
  return two * kLn2 + 2 * sum;
}

// e^x = (e^r)^(2^k) would lose digits; 2^k * e^r does not.
double exponential(double x) {
  const auto two = static_cast<int64_t>(x / kLn2);
  const double rest = x - static_cast<double>(two) * kLn2;
  double sum = 1, term = 1;
  for (int i = 1; i < 24; ++i) sum += (term *= rest / i);
  for (int64_t i = 0; i < std::llabs(two); ++i) sum *= two > 0 ? 2 : 0.5;
  return sum;
}

}  // namespace

uint64_t Random::below(uint64_t n) {
  __extension__ using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(bits()) * n;
  if (static_cast<uint64_t>(product) < n)
    for (const uint64_t unfair = -n % n; static_cast<uint64_t>(product) < unfair;)
      product = static_cast<Wide>(bits()) * n;
  return static_cast<uint64_t>(product >> 64);
}

double power(double x, double y) { return exponential(y * natural_logarithm(x)); }

Discrete::Discrete(std::span<const double> weights) : keep_(weights.begin(), weights.end()), alias_(weights.size()) {
  double sum = 0;
  for (const double weight : weights) sum += weight;
  std::vector<uint32_t> small, large;
  for (uint32_t i = 0; i < keep_.size(); ++i) {
    keep_[i] *= static_cast<double>(keep_.size()) / sum;
    (keep_[i] < 1 ? small : large).push_back(i);
  }
  while (!small.empty() && !large.empty()) {
    const uint32_t from = large.back(), to = small.back();
    small.pop_back();
    alias_[to] = from;
    keep_[from] -= 1 - keep_[to];
    if (keep_[from] < 1) {
      large.pop_back();
      small.push_back(from);
    }
  }
  // What is left is 1 but for rounding.
  for (const uint32_t i : small) keep_[i] = 1;
  for (const uint32_t i : large) keep_[i] = 1;
}

size_t Discrete::operator()(Random& random) const {
  const size_t column = random.below(keep_.size());
  return random.unit() < keep_[column] ? column : alias_[column];
}

std::vector<double> zipf_weights(size_t count, double exponent) {
  std::vector<double> weights(count);
  for (size_t rank = 0; rank < count; ++rank) weights[rank] = 1 / power(static_cast<double>(rank + 1), exponent);
  return weights;
}

}  // namespace heddle::bench
