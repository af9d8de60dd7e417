#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "functions/ip_lookup/simd.h"

namespace heddle::classifier {

/** Instructions that lookups on a CPU are compiled for; AVX-512 with its parts F, BW, DQ and VL. */
enum class Simd : uint8_t { portable, avx2, avx512 };

/** Those that this processor has, the best first. */
inline std::span<const Simd> simds() {
  static constexpr Simd kAll[] = {Simd::avx512, Simd::avx2, Simd::portable};
  static const size_t unknown = []() -> size_t {
#ifdef HEDDLE_AVX2
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
      return 0;
    if (__builtin_cpu_supports("avx2")) return 1;
#endif
    return 2;
  }();
  return std::span(kAll).subspan(unknown);
}

}  // namespace heddle::classifier
