#pragma once

#include <cstdint>

#include "core/macros.h"
#include "functions/flow/place_counts.h"

namespace heddle::flow {

/** What RateLimiter goes by, the same bytes on CPU and GPU. */
struct Limits {
  Places places;              ///< of the flows' table; for GPUs
  uint32_t rate;              ///< tokens a second, that is thousandths of a token a millisecond; below 2^20
  uint32_t most;              ///< thousandths in a full bucket; kToken or more, below 2^26
  uint32_t has_other_output;  ///< whether what is beyond the rate goes there; else it is dropped
};

/** The token bucket of a flow, and what RateLimiter does to it, on any processor. A packet takes a token. */
struct Bucket {
  static constexpr uint32_t kToken = 1000;  ///< in thousandths
  static constexpr int kMissingBits = 26, kTimeBits = 25, kBits = kMissingBits + kTimeBits;

  uint32_t missing;  ///< thousandths, from full
  uint32_t ms;       ///< when that was so, the low kTimeBits of the flows' clock

  /** That of a flow whose packet comes at `now_ms`. `word`: what word() was; 0: the flow begins. */
  static HEDDLE_HD constexpr Bucket of(uint64_t word, uint32_t now_ms) {
    if (word == 0) return {0, now_ms & kTimes};
    return {static_cast<uint32_t>(word) & ((1u << kMissingBits) - 1), static_cast<uint32_t>(word >> kMissingBits)};
  }
  /** kBits; not 0 behind a take(). */
  HEDDLE_HD constexpr uint64_t word() const { return uint64_t{ms} << kMissingBits | missing; }

  /** Whether there is a token for a packet that comes at `now_ms`, which then takes it. One that a later packet has
   *  overtaken comes when that one did. */
  HEDDLE_HD constexpr bool take(const Limits& limits, uint32_t now_ms) {
    const uint32_t since = (now_ms - ms) & kTimes;
    if (since <= kTimes - kMaxLate) {
      const uint64_t come = uint64_t{since} * limits.rate;
      missing = come < missing ? missing - static_cast<uint32_t>(come) : 0;
      ms = now_ms & kTimes;
    }
    if (missing + kToken > limits.most) return false;
    missing += kToken;
    return true;
  }

 private:
  static constexpr uint32_t kTimes = (1u << kTimeBits) - 1;
  static constexpr uint32_t kMaxLate = 1u << 22;  // over an hour; what seems later has come 8 hours or more after
};

/** What a GPU keeps for a place of the table: the bucket of its last flow, and above it the flow's generation, of which
 *  there is room for the low kBucketGenerations, and 1; 0: there was none. */
using PlaceBucket = unsigned long long;
constexpr uint32_t kBucketGenerations = (1u << (63 - Bucket::kBits)) - 1;

HEDDLE_HD constexpr uint64_t bucket_word(uint32_t generation, const Bucket& bucket) {
  return uint64_t{(generation & kBucketGenerations) + 1} << Bucket::kBits | bucket.word();
}
/** The bucket's word in that. */
HEDDLE_HD constexpr uint64_t bucket_in(uint64_t word) { return word & ((uint64_t{1} << Bucket::kBits) - 1); }
HEDDLE_HD constexpr bool is_bucket_of(uint64_t word, uint32_t generation) {
  return word >> Bucket::kBits == (generation & kBucketGenerations) + 1;
}
/** Whether a flow that has followed this one has the bucket. */
HEDDLE_HD constexpr bool is_bucket_after(uint64_t word, uint32_t generation, const Places& places) {
  return word != 0 && places.is_after(static_cast<uint32_t>(word >> Bucket::kBits) - 1, generation, kBucketGenerations);
}

}  // namespace heddle::flow
