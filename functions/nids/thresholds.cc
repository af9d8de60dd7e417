#include "functions/nids/thresholds.h"

#include <bit>

namespace heddle::nids {
namespace {

using Verdict = Thresholds::Verdict;

/** The verdict on the match that makes it `count`, which may begin anew (Suricata 7.0, detect-engine-threshold). */
Verdict verdict_of(const Threshold& threshold, uint32_t& count) {
  const uint32_t most = threshold.count;
  switch (threshold.type) {
    case Threshold::Type::limit:
      return count <= most ? Verdict::alert : Verdict::silent;
    case Threshold::Type::threshold:
      if (count < most) return Verdict::none;
      count = 0;
      return Verdict::alert;
    case Threshold::Type::both:
      return count < most ? Verdict::none : count == most ? Verdict::alert : Verdict::silent;
    case Threshold::Type::filter:
      return count > most ? Verdict::alert : Verdict::none;
    case Threshold::Type::none:
      break;
  }
  return Verdict::alert;
}

}  // namespace

Thresholds::Thresholds(uint32_t places)
    : mask_(std::bit_ceil((places + kEntries - 1) / kEntries) - 1), buckets_(std::make_unique<Bucket[]>(mask_ + 1)) {}

Thresholds::Entry& Thresholds::entry_of(Bucket& bucket, const Entry& key, uint64_t now_ns) {
  Entry* oldest = &bucket.entries[0];
  for (Entry& entry : bucket.entries) {
    if (entry.sid == key.sid && entry.source == key.source && entry.destination == key.destination) return entry;
    if (entry.end_ns < oldest->end_ns) oldest = &entry;
  }
  if (oldest->sid != 0 && oldest->end_ns >= now_ns) forgotten_.fetch_add(1, std::memory_order_relaxed);
  *oldest = key;
  return *oldest;
}

Verdict Thresholds::judge(const Signature& rule, const View& view, uint64_t now_ns) {
  using Track = Threshold::Track;
  const Threshold& threshold = rule.threshold;
  const bool by_source = threshold.track == Track::source || threshold.track == Track::both;
  const bool by_destination = threshold.track == Track::destination || threshold.track == Track::both;
  const Entry key{0, rule.sid, by_source ? view.source : 0, by_destination ? view.destination : 0, 0};
  const uint64_t hash = (uint64_t{key.source} << 32 | key.destination) * 0x9e3779b97f4a7c15u ^ key.sid * 0xbf58476du;
  Bucket& bucket = buckets_[(hash ^ hash >> 32) & mask_];
  while (bucket.busy.test_and_set(std::memory_order_acquire)) {
  }
  Entry& entry = entry_of(bucket, key, now_ns);
  if (now_ns > entry.end_ns || entry.end_ns == 0) {
    entry.end_ns = now_ns + threshold.seconds * uint64_t{1000000000};
    entry.count = 0;
  }
  if (entry.count < UINT32_MAX) ++entry.count;
  const Verdict verdict = verdict_of(threshold, entry.count);
  bucket.busy.clear(std::memory_order_release);
  return verdict;
}

}  // namespace heddle::nids
