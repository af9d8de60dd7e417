#include "elements/nat/mapping_table.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <thread>

#include "core/error.h"

namespace heddle::nat {
namespace {

constexpr uint32_t kAtOnce = 1024;  // mappings a lock: packet threads may want to make some meanwhile
constexpr uint32_t kLookedAt = 4096, kCandidates = 64;  // of so many mappings a 64th are given up, one after the other

HugePages map_memory(size_t bytes, uint32_t mappings) {
  const size_t there = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (bytes > there)
    throw Error(
        format("%u mappings take up to %zu MiB of memory, and this machine has %zu MiB; give a smaller capacity",
               mappings, bytes >> 20, there >> 20));
  return map_huge_pages(bytes);
}

}  // namespace

MappingTable::MappingTable(uint32_t capacity)
    : capacity_(std::min(capacity, kIndex)),
      mask_(std::bit_ceil(std::max(capacity_, 8u)) - 1),  // two entries a mapping, three a bucket
      memory_(map_memory((size_t{mask_} + 1) * sizeof(Bucket) + size_t{capacity_} * sizeof(Mapping), capacity_)),
      buckets_(reinterpret_cast<Bucket*>(memory_.get())),
      mappings_(reinterpret_cast<Mapping*>(buckets_ + mask_ + 1)) {}

uint32_t MappingTable::hash(const FlowKey& key) {
  uint64_t mixed = addresses_of(key) * 0x9e3779b97f4a7c15u;
  mixed ^= (uint64_t{ports_of(key)} << 16 | uint64_t{key.owner} << 8 | static_cast<uint64_t>(key.kind)) *
           0xc2b2ae3d27d4eb4fu;
  mixed ^= mixed >> 29;
  mixed *= 0x165667b19e3779f9u;
  return static_cast<uint32_t>(mixed >> 32);
}

bool MappingTable::find(const FlowKey& key, uint32_t hash, Rewrite& found) const {
  const uint64_t addresses = addresses_of(key), wanted = rest_of(key);
  for (uint32_t at = hash & mask_, steps = 0; steps <= mask_;) {
    const Bucket& bucket = buckets_[at];
    const uint32_t version = bucket.version.load(std::memory_order_acquire);
    if (version % 2 != 0) continue;  // for some stores
    uint32_t value = kNone;
    for (const Entry& entry : bucket.entries) {
      const uint64_t rest = entry.rest.load(std::memory_order_relaxed);
      if (entry.addresses.load(std::memory_order_relaxed) == addresses && (rest & kRestOfKey) == wanted &&
          mappings_[rest >> 32 & kIndex].owner.load(std::memory_order_relaxed) == key.owner)
        value = static_cast<uint32_t>(rest >> 32);
    }
    const bool further = bucket.passed.load(std::memory_order_relaxed) > 0;
    if (value != kNone) {
      const Mapping& mapping = mappings_[value & kIndex];
      found.reply = (value & kReplyBit) != 0;
      found.to = found.reply ? mapping.flow().reversed() : mapping.to();
      found.annotation = mapping.annotation.load(std::memory_order_relaxed);
      const uint32_t outputs = mapping.outputs.load(std::memory_order_relaxed);
      found.output = static_cast<uint8_t>(found.reply ? outputs >> 8 : outputs);
      found.mapping = value & kIndex;
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    if (bucket.version.load(std::memory_order_relaxed) != version) continue;
    if (value != kNone) return true;  // a mapping leaves its buckets before it changes
    if (!further) return false;
    at = (at + 1) & mask_;
    ++steps;
  }
  return false;
}

void MappingTable::prefetch_mapping(const FlowKey& key, uint32_t hash) const {
  const uint64_t wanted = rest_of(key);
  for (const Entry& entry : buckets_[hash & mask_].entries)
    if (const uint64_t rest = entry.rest.load(std::memory_order_relaxed); (rest & kRestOfKey) == wanted)
      __builtin_prefetch(&mappings_[rest >> 32 & kIndex]);
}

void MappingTable::touch(uint32_t index, uint64_t now_ms, uint8_t seen) {
  Mapping& mapping = mappings_[index];
  if (mapping.used_ms.load(std::memory_order_relaxed) != now_ms)
    mapping.used_ms.store(now_ms, std::memory_order_relaxed);
  // Its ports are used again; of a new mapping FTPPortMapper may have moved what comes behind the start already.
  if ((seen & kStart) != 0 && mapping.seen.load(std::memory_order_relaxed) != 0) {
    mapping.seen.store(0, std::memory_order_relaxed);
    mapping.shift.store(0, std::memory_order_relaxed), mapping.earlier_shift.store(0, std::memory_order_relaxed);
  }
  seen &= static_cast<uint8_t>(~kStart);
  const uint8_t before = mapping.seen.load(std::memory_order_relaxed);
  if (before != 0) seen |= (before & kSecond) != 0 ? kSecond | kThird : kSecond;
  if ((before & seen) != seen) mapping.seen.fetch_or(seen, std::memory_order_relaxed);
}

template <class Change>
void MappingTable::change(Bucket& bucket, const Change& what) {
  const uint32_t version = bucket.version.load(std::memory_order_relaxed);
  bucket.version.store(version + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  what();
  bucket.version.store(version + 2, std::memory_order_release);
}

bool MappingTable::insert(const FlowKey& key, uint32_t value) {
  const uint32_t first = hash(key) & mask_;
  for (uint32_t steps = 0, at = first; steps <= mask_; ++steps, at = (at + 1) & mask_) {
    Bucket& bucket = buckets_[at];
    for (Entry& entry : bucket.entries) {
      if (entry.rest.load(std::memory_order_relaxed) != 0) continue;
      change(bucket, [&] {
        entry.addresses.store(addresses_of(key), std::memory_order_relaxed);
        entry.rest.store(uint64_t{value} << 32 | ports_of(key), std::memory_order_relaxed);
      });
      for (uint32_t before = first; before != at; before = (before + 1) & mask_)
        buckets_[before].passed.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
  }
  return false;
}

void MappingTable::remove(const FlowKey& key, uint32_t value) {
  const uint32_t first = hash(key) & mask_;
  const uint64_t wanted = uint64_t{value} << 32 | ports_of(key);
  for (uint32_t steps = 0, at = first; steps <= mask_; ++steps, at = (at + 1) & mask_) {
    Bucket& bucket = buckets_[at];
    for (Entry& entry : bucket.entries) {
      if (entry.rest.load(std::memory_order_relaxed) != wanted ||
          entry.addresses.load(std::memory_order_relaxed) != addresses_of(key))
        continue;
      change(bucket, [&] { entry.rest.store(0, std::memory_order_relaxed); });
      for (uint32_t before = first; before != at; before = (before + 1) & mask_)
        buckets_[before].passed.fetch_sub(1, std::memory_order_relaxed);
      return;
    }
  }
}

MappingTable::Mapping* MappingTable::place(const FlowKey& flow, const FlowKey& to, uint32_t outputs, uint64_t used_ms,
                                           uint8_t annotation, Outcome& outcome) {
  Rewrite there;
  outcome = find(flow, there) ? Outcome::made : find(to.reversed(), there) ? Outcome::taken : Outcome::full;
  uint32_t index = free_;
  if (outcome != Outcome::full || size() >= most_) return nullptr;
  if (index != kNone)
    free_ = static_cast<uint32_t>(mappings_[index].words[0]);
  else
    index = fresh_++;
  Mapping& mapping = mappings_[index];
  mapping.words[0].store(addresses_of(flow), std::memory_order_relaxed);
  mapping.words[1].store(ports_of(flow), std::memory_order_relaxed);
  mapping.words[2].store(addresses_of(to), std::memory_order_relaxed);
  mapping.words[3].store(ports_of(to), std::memory_order_relaxed);
  mapping.outputs.store(outputs, std::memory_order_relaxed);
  mapping.used_ms.store(used_ms, std::memory_order_relaxed);
  mapping.seen.store(0, std::memory_order_relaxed);
  mapping.owner.store(flow.owner, std::memory_order_relaxed);
  mapping.annotation.store(annotation, std::memory_order_relaxed);
  mapping.shift.store(0, std::memory_order_relaxed), mapping.earlier_shift.store(0, std::memory_order_relaxed);
  mapping.used.store(true, std::memory_order_relaxed);
  const uint32_t value = index | kind_bits(flow.kind);
  if (flow != to.reversed()) insert(flow, value);
  insert(to.reversed(), value | kReplyBit);
  size_.fetch_add(1, std::memory_order_relaxed);
  sizes_[flow.owner].fetch_add(1, std::memory_order_relaxed);
  outcome = Outcome::made;
  return &mapping;
}

MappingTable::Outcome MappingTable::create(const FlowKey& flow, const FlowKey& to, uint8_t forward, uint8_t back,
                                           uint64_t now_ms, uint8_t input, uint8_t annotation) {
  const std::lock_guard one_at_a_time(changing_);
  if (moved_) return Outcome::moved;
  const uint32_t outputs =
      forward | uint32_t{back} << 8 | static_cast<uint32_t>(flow.kind) << 16 | uint32_t{input} << 24;
  Outcome outcome = Outcome::made, ignored = Outcome::made;
  if (place(flow, to, outputs, now_ms, annotation, outcome) != nullptr && next_ != nullptr) {
    const std::lock_guard there(next_->changing_);
    next_->place(flow, to, outputs, now_ms, annotation, ignored);
  }
  return outcome;
}

void MappingTable::remove_mapping(uint32_t index) {
  Mapping& mapping = mappings_[index];
  const FlowKey flow = mapping.flow(), back = mapping.to().reversed();
  const uint32_t value = index | kind_bits(flow.kind);
  if (flow != back) remove(flow, value);
  remove(back, value | kReplyBit);
  if (next_ != nullptr && !moved_) {
    const std::lock_guard there(next_->changing_);
    if (const Mapping* same = same_in(*next_, index))
      next_->remove_mapping(static_cast<uint32_t>(same - next_->mappings_));
  }
  mapping.used.store(false, std::memory_order_relaxed);
  mapping.words[0].store(free_, std::memory_order_relaxed), free_ = index;
  size_.fetch_sub(1, std::memory_order_relaxed);
  sizes_[flow.owner].fetch_sub(1, std::memory_order_relaxed);
  none_before_ms_ = 0;
}

bool MappingTable::expire(uint64_t now_ms, uint32_t count, const std::function<bool(const Idle&)>& dead) {
  const std::unique_lock one_at_a_time(changing_, std::try_to_lock);
  if (!one_at_a_time) return false;
  for (count = std::min(count, fresh_); count > 0; --count) {
    if (swept_ >= fresh_) swept_ = 0;
    const uint32_t index = swept_++;
    const Mapping& mapping = mappings_[index];
    if (!mapping.used.load(std::memory_order_relaxed)) continue;
    if (dead(idle_of(mapping, now_ms))) remove_mapping(index);
  }
  return true;
}

MappingTable::Candidate MappingTable::candidate_of(uint32_t index, uint64_t now_ms, const LimitsOf& limits) const {
  const Mapping& mapping = mappings_[index];
  const Idle idle = idle_of(mapping, now_ms);
  const Limits after = limits(idle);
  const uint64_t used_ms = now_ms - static_cast<uint64_t>(idle.ms);
  const bool guaranteed = idle.ms < after.guarantee;
  return {guaranteed, used_ms + static_cast<uint64_t>(guaranteed ? after.guarantee : after.timeout), used_ms, index,
          idle.seen};
}

bool MappingTable::is_valid(const Candidate& candidate) const {
  const Mapping& mapping = mappings_[candidate.index];
  return mapping.used && mapping.used_ms == candidate.used_ms && mapping.seen == candidate.seen;
}

void MappingTable::look_for_candidates(uint64_t now_ms, const LimitsOf& limits) {
  const uint32_t count = std::min(fresh_, kLookedAt);
  uint64_t earliest = UINT64_MAX;  // end of a guarantee
  candidates_.clear();
  for (uint32_t i = 0; i < count; ++i) {
    if (looked_at_ >= fresh_) looked_at_ = 0;
    const uint32_t index = looked_at_++;
    if (!mappings_[index].used) continue;
    const Candidate one = candidate_of(index, now_ms, limits);
    if (one.guaranteed)
      earliest = std::min(earliest, one.end_ms);
    else
      candidates_.push_back(one);
  }
  std::ranges::sort(candidates_, std::greater());
  const size_t kept = std::max(count / kCandidates, 1u);
  if (candidates_.size() > kept) candidates_.erase(candidates_.begin(), candidates_.end() - static_cast<int64_t>(kept));
  if (candidates_.empty()) none_before_ms_ = count == fresh_ ? earliest : now_ms + 1;
}

bool MappingTable::give_up(uint64_t now_ms, uint64_t latest_ms, const LimitsOf& limits) {
  const std::lock_guard one_at_a_time(changing_);
  if (moved_ || size() < most_) return true;
  while (!candidates_.empty() && !is_valid(candidates_.back())) candidates_.pop_back();
  if (candidates_.empty() && now_ms >= none_before_ms_) look_for_candidates(now_ms, limits);
  if (candidates_.empty()) return false;
  const Candidate first = candidates_.back();
  if (first.end_ms > latest_ms) {
    candidates_.clear();  // another may end before, when it is asked again
    none_before_ms_ = now_ms + 1;
    return false;
  }
  candidates_.pop_back();
  remove_mapping(first.index);
  return true;
}

void MappingTable::shrink(uint32_t most, uint64_t now_ms, const LimitsOf& limits) {
  {
    const std::lock_guard one_at_a_time(changing_);
    most_ = most;  // a flow that has gone does not come back in the place of another
  }
  std::vector<Candidate> all;
  for (uint32_t index = 0, end = 0; size() > most;) {
    const std::lock_guard one_at_a_time(changing_);
    end = std::min(index + kAtOnce, fresh_);
    for (; index < end; ++index)
      if (mappings_[index].used) all.push_back(candidate_of(index, now_ms, limits));
    if (end == fresh_) break;
  }
  std::ranges::sort(all);
  // Those with packets since go last. None of them is another mapping by now: there are too many to make one.
  for (const bool with_packets_since : {false, true}) {
    for (size_t next = 0; next < all.size();) {
      const std::lock_guard one_at_a_time(changing_);
      for (const size_t end = std::min<size_t>(next + kAtOnce, all.size()); next < end; ++next) {
        if (size() <= most) return;
        const uint32_t index = all[next].index;
        if (mappings_[index].used && (with_packets_since || is_valid(all[next]))) remove_mapping(index);
      }
    }
  }
}

void MappingTable::clear() {
  const std::lock_guard one_at_a_time(changing_);
  for (uint32_t index = 0; index < fresh_; ++index)
    if (mappings_[index].used) remove_mapping(index);
}

void MappingTable::clear_input(uint8_t owner, uint8_t input) {
  for (uint32_t index = 0, end = 0;; index = end) {
    const std::lock_guard one_at_a_time(changing_);  // packet threads may want to make mappings meanwhile
    end = std::min(index + kAtOnce, fresh_);
    for (; index < end; ++index)
      if (const Mapping& mapping = mappings_[index]; mapping.used && mapping.owner == owner && mapping.input() == input)
        remove_mapping(index);
    if (end == fresh_) return;
  }
}

MappingTable::Mapping* MappingTable::same_in(MappingTable& other, uint32_t index) const {
  const Mapping& mapping = mappings_[index];
  Rewrite found;
  const FlowKey flow = mapping.flow(), to = mapping.to();
  const bool is_its_reply = flow == to.reversed();
  if (!other.find(flow, found) || found.reply != is_its_reply || found.to != to) return nullptr;
  return &other.mappings_[found.mapping];
}

void MappingTable::move_to(MappingTable& other) {
  bool more = true;
  for (uint32_t index = 0; more;) {
    const std::lock_guard one_at_a_time(changing_);
    const std::lock_guard there(other.changing_);
    next_ = &other;
    const uint32_t end = std::min(index + kAtOnce, fresh_);
    for (; index < end; ++index) {
      const Mapping& mapping = mappings_[index];
      if (!mapping.used) continue;
      Outcome ignored = Outcome::made;
      Mapping* made =
          other.place(mapping.flow(), mapping.to(), mapping.outputs, mapping.used_ms, mapping.annotation, ignored);
      if (made == nullptr) continue;  // since next_ is set
      made->seen.store(mapping.seen);
      made->earlier_shift.store(mapping.earlier_shift), made->shift.store(mapping.shift);
    }
    more = end < fresh_;
    moved_ = !more;
  }
}

void MappingTable::hand_over(MappingTable& other) const {
  for (uint32_t index = 0; index < fresh_; ++index) {
    const Mapping& mapping = mappings_[index];
    if (index % kAtOnce == 0) std::this_thread::yield();
    const std::lock_guard there(other.changing_);
    Mapping* same = mapping.used ? same_in(other, index) : nullptr;
    if (same == nullptr) continue;
    same->seen.fetch_or(mapping.seen);
    if (mapping.used_ms > same->used_ms) same->used_ms.store(mapping.used_ms);
  }
}

void MappingTable::add_shift(uint32_t index, Shift shift) {
  const std::lock_guard one_at_a_time(changing_);  // seldom
  // Who sees the newest sees the one before as well.
  const auto add = [&](Mapping& mapping) {
    mapping.earlier_shift.store(mapping.shift.load(std::memory_order_relaxed), std::memory_order_relaxed);
    mapping.shift.store(std::bit_cast<uint64_t>(shift), std::memory_order_release);
  };
  add(mappings_[index]);
  if (next_ == nullptr) return;
  const std::lock_guard there(next_->changing_);
  if (Mapping* same = same_in(*next_, index)) add(*same);
}

void MappingTable::copy(const MappingTable& other, uint8_t from, uint8_t owner, int outputs) {
  for (uint32_t index = 0; index < other.fresh_; ++index) {
    const Mapping& mapping = other.mappings_[index];
    const uint32_t ways = mapping.outputs;
    const auto forward = static_cast<uint8_t>(ways), back = static_cast<uint8_t>(ways >> 8);
    if (!mapping.used || mapping.owner != from || std::max(forward, back) >= outputs) continue;
    FlowKey flow = mapping.flow(), to = mapping.to();
    flow.owner = to.owner = owner;
    if (create(flow, to, forward, back, mapping.used_ms, mapping.input(), mapping.annotation) == Outcome::full) return;
    if (Rewrite made; find(flow, made)) {
      touch(made.mapping, mapping.used_ms, mapping.seen);
      const Shifts shifts = other.shifts(index);
      if (shifts.earlier) add_shift(made.mapping, shifts.earlier);
      if (shifts) add_shift(made.mapping, shifts.newest);
    }
  }
}

void MappingTable::visit(uint64_t now_ms, const std::function<void(const View&)>& each) const {
  bool more = true;
  for (uint32_t index = 0; more;) {
    const std::lock_guard one_at_a_time(changing_);
    const uint32_t end = std::min(index + kAtOnce, fresh_);
    more = end < fresh_;
    for (; index < end; ++index) {
      const Mapping& mapping = mappings_[index];
      if (!mapping.used) continue;
      const uint32_t outputs = mapping.outputs;
      each({mapping.flow(), mapping.to(), static_cast<uint8_t>(outputs), static_cast<uint8_t>(outputs >> 8),
            mapping.input(), idle_of(mapping, now_ms).ms});
    }
  }
}

}  // namespace heddle::nat
