#include "functions/nids/thresholds.h"

#include <algorithm>
#include <bit>
#include <random>

#include "functions/cuckoo/bucket_rule.h"

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

/** What stands for both addresses, whichever way the packet goes. */
uint64_t pair_of(const View& view) {
  return view.name_of(std::min(view.source, view.destination), std::max(view.source, view.destination));
}

/** Two flags, in the order of their places; they may be one. */
class Both {
 public:
  Both(std::atomic_flag& one, std::atomic_flag& other) : low_(std::min(&one, &other)), high_(std::max(&one, &other)) {
    wait_for(*low_);
    if (high_ != low_) wait_for(*high_);
  }
  ~Both() {
    low_->clear(std::memory_order_release);
    if (high_ != low_) high_->clear(std::memory_order_release);
  }
  Both(const Both&) = delete;
  Both& operator=(const Both&) = delete;

 private:
  static void wait_for(std::atomic_flag& flag) {
    while (flag.test_and_set(std::memory_order_acquire)) {
    }
  }
  std::atomic_flag *low_, *high_;
};

}  // namespace

uint64_t Thresholds::random_seed() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

Thresholds::Thresholds(uint32_t places, uint64_t seed)
    : seed_(seed),
      mask_(std::bit_ceil((places + kUsed - 1) / kUsed) - 1),
      buckets_(std::make_unique<Bucket[]>(mask_ + 1)) {}

std::pair<Thresholds::Bucket&, Thresholds::Bucket&> Thresholds::buckets_of(const Entry& key) {
  const uint64_t hash = cuckoo::mixed(cuckoo::mixed(key.addresses ^ seed_) ^ (uint64_t{key.generator} << 32 | key.sid));
  return {buckets_[hash & mask_], buckets_[hash >> 32 & mask_]};
}

Thresholds::Entry* Thresholds::find(const Entry& key, Bucket& first, Bucket& second) {
  for (Bucket* bucket : {&first, &second})
    for (Entry& entry : bucket->entries)
      if (entry.is_of(key)) return &entry;
  return nullptr;
}

/** The entry of `key`; if there is none, it gets the place in the emptier bucket whose time ends first. */
Thresholds::Entry& Thresholds::entry_of(const Entry& key, Bucket& first, Bucket& second) {
  const auto in_use = [&](const Entry& entry) { return entry.sid != 0 && entry.end_ns() >= key.start_ns; };
  if (Entry* const entry = find(key, first, second)) return *entry;
  const bool to_first = std::ranges::count_if(first.entries, in_use) <= std::ranges::count_if(second.entries, in_use);
  Entry& place = *std::ranges::min_element((to_first ? first : second).entries, {}, &Entry::end_ns);
  if (in_use(place)) forgotten_.fetch_add(1, std::memory_order_relaxed);
  return place = key;
}

Verdict Thresholds::judge(const Signature& rule, const View& view, uint64_t now_ns) {
  using Track = Threshold::Track;
  const Threshold& threshold = rule.threshold;
  Entry key{now_ns, threshold.seconds, rule.sid, 0, 0, rule.generator};
  if (threshold.track == Track::source) key.addresses = view.name_of(view.source);
  if (threshold.track == Track::destination) key.addresses = view.name_of(0, view.destination);
  if (threshold.track == Track::both) key.addresses = pair_of(view);
  const auto [first, second] = buckets_of(key);
  const Both held(first.busy, second.busy);
  Entry& entry = entry_of(key, first, second);
  entry.seconds = threshold.seconds;  // of the rule as it is now
  if (now_ns > entry.end_ns()) entry.start_ns = now_ns, entry.count = 0;
  if (entry.count < UINT32_MAX) ++entry.count;
  return verdict_of(threshold, entry.count);
}

Thresholds::Entry Thresholds::bit_key(const BitOption& option, const View& view, uint64_t now_ns) {
  constexpr uint64_t kSecond = 1000000000;
  // Whole seconds, as in Suricata 7.0.10, of which the last counts.
  const uint64_t addresses = option.of == BitOption::Of::pair     ? pair_of(view)
                             : option.of == BitOption::Of::source ? view.name_of(view.source)
                                                                  : view.name_of(view.destination);
  return {now_ns - now_ns % kSecond, option.seconds, option.numbers[0], addresses, 1, 0};
}

bool Thresholds::is_set(const BitOption& option, const View& view, uint64_t now_ns) {
  const Entry key = bit_key(option, view, now_ns);
  const auto [first, second] = buckets_of(key);
  const Both held(first.busy, second.busy);
  const Entry* const entry = find(key, first, second);
  return entry != nullptr && key.start_ns <= entry->end_ns();
}

void Thresholds::change(const BitOption& option, const View& view, uint64_t now_ns) {
  using Kind = BitOption::Kind;
  const Entry key = bit_key(option, view, now_ns);
  const auto [first, second] = buckets_of(key);
  const Both held(first.busy, second.busy);
  Entry* const entry = find(key, first, second);
  const bool there = entry != nullptr && key.start_ns <= entry->end_ns();
  if (option.kind == Kind::set || (option.kind == Kind::toggle && !there))
    entry_of(key, first, second) = key;
  else if (entry != nullptr)
    *entry = {};
}

}  // namespace heddle::nids
