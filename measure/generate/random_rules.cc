#include "measure/generate/random_rules.h"

#include <utility>

#include "core/error.h"
#include "measure/generate/random.h"

namespace heddle::bench {
namespace {

std::string random_prefix(Random& random) {
  const auto length = static_cast<uint32_t>(random.between(8, 32));
  const auto address = static_cast<uint32_t>(random.bits()) & ~uint32_t{0} << (32 - length);
  return format("%u.%u.%u.%u/%u", address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255, length);
}

std::string random_range(Random& random, uint64_t most, const char* between) {
  auto low = static_cast<unsigned>(random.between(0, most)), high = static_cast<unsigned>(random.between(0, most));
  if (low > high) std::swap(low, high);
  return format("%u%s%u", low, between, high);
}

}  // namespace

std::string random_rules(size_t count, uint64_t seed) {
  Random random(seed);
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += "@" + random_prefix(random) + " ";
    text += random_prefix(random) + " ";
    text += random_range(random, 65535, " : ") + " ";
    text += random_range(random, 65535, " : ") + " ";
    text += random_range(random, 255, "-") + "\n";
  }
  return text;
}

}  // namespace heddle::bench
