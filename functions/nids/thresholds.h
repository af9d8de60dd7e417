#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "functions/nids/match.h"

namespace heddle::nids {

/** How often rules with a `threshold` or a `detection_filter` have matched of late, for each address that they track;
 *  or, in a table of its own, which bits (`xbits`) addresses and pairs of them have. By any number of threads. Memory
 *  is fixed: each address has two buckets that it may be in, and a seed that nobody knows chooses them, so `places`
 *  addresses find room, whatever they are. Where there are more, those whose time ends first are forgotten. */
class Thresholds {
 public:
  /** What a match comes to: nothing, as if there were none; what the rule does, but no alert; or both. */
  enum class Verdict : uint8_t { none, silent, alert };

  /** `places`: of what is tracked at once. Throws std::bad_alloc. */
  explicit Thresholds(uint32_t places = 65536) : Thresholds(places, random_seed()) {}
  Thresholds(uint32_t places, uint64_t seed);

  /** A packet of `now_ns` matches `rule`, which has a threshold. */
  Verdict judge(const Signature& rule, const View& view, uint64_t now_ns);
  /** Whether what the option tracks of the packet has its first bit. */
  bool is_set(const BitOption& option, const View& view, uint64_t now_ns);
  /** Sets that, clears it or changes it, as the option says. */
  void change(const BitOption& option, const View& view, uint64_t now_ns);
  /** Those that have been forgotten before their time. */
  uint64_t forgotten() const { return forgotten_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    uint64_t start_ns;   // of its time
    uint32_t seconds;    // that it lasts
    uint32_t sid;        // or the bit's number; 0: free
    uint64_t addresses;  // View::name_of() them
    uint32_t count;      // of matches within it; of a bit 1
    uint32_t generator;  // of a rule

    uint64_t end_ns() const { return start_ns + seconds * uint64_t{1000000000}; }
    bool is_of(const Entry& key) const {
      return sid == key.sid && generator == key.generator && addresses == key.addresses;
    }
  };
  // Of a bucket: places, and those in use when there are as many as promised.
  static constexpr uint32_t kEntries = 7, kUsed = 4;
  struct alignas(64) Bucket {
    std::atomic_flag busy;
    Entry entries[kEntries];
  };
  static uint64_t random_seed();
  static Entry bit_key(const BitOption& option, const View& view, uint64_t now_ns);
  std::pair<Bucket&, Bucket&> buckets_of(const Entry& key);
  static Entry* find(const Entry& key, Bucket& first, Bucket& second);
  Entry& entry_of(const Entry& key, Bucket& first, Bucket& second);

  uint64_t seed_;
  uint32_t mask_;
  std::unique_ptr<Bucket[]> buckets_;  // [mask_ + 1]
  std::atomic<uint64_t> forgotten_{0};
};

}  // namespace heddle::nids
