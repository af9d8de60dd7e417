#include "elements/nat/mapping_table.h"

#include <algorithm>
#include <bit>
#include <thread>

namespace heddle::nat {
namespace {

constexpr uint32_t kAtOnce = 1024;  // mappings a lock: packet threads may want to make some meanwhile

}  // namespace

MappingTable::MappingTable(uint32_t capacity)
    : capacity_(std::min(capacity, kIndex)),
      mask_(std::bit_ceil(std::max(capacity_, 8u)) - 1),  // two entries a mapping, three a bucket
      buckets_(std::make_unique<Bucket[]>(size_t{mask_} + 1)),
      mappings_(std::make_unique<Mapping[]>(capacity_)) {}

FlowKey MappingTable::key_of(uint64_t addresses, uint64_t ports, Kind kind) {
  return {static_cast<uint32_t>(addresses >> 32), static_cast<uint32_t>(addresses), static_cast<uint16_t>(ports >> 16),
          static_cast<uint16_t>(ports), kind};
}

uint32_t MappingTable::home(const FlowKey& key) const {
  uint64_t hash = addresses_of(key) * 0x9e3779b97f4a7c15u;
  hash ^= (uint64_t{ports_of(key)} << 8 | static_cast<uint64_t>(key.kind)) * 0xc2b2ae3d27d4eb4fu;
  hash ^= hash >> 29;
  hash *= 0x165667b19e3779f9u;
  return static_cast<uint32_t>(hash >> 32) & mask_;
}

bool MappingTable::find(const FlowKey& key, Rewrite& found) const {
  const uint64_t addresses = addresses_of(key);
  const uint32_t ports = ports_of(key), kind = static_cast<uint32_t>(key.kind);
  for (uint32_t at = home(key), steps = 0; steps <= mask_;) {
    const Bucket& bucket = buckets_[at];
    const uint32_t version = bucket.version.load(std::memory_order_acquire);
    if (version % 2 != 0) continue;  // for some stores
    uint32_t value = kNone;
    for (const Entry& entry : bucket.entries) {
      const uint64_t rest = entry.rest.load(std::memory_order_relaxed);
      if (entry.addresses.load(std::memory_order_relaxed) == addresses && static_cast<uint32_t>(rest) == ports &&
          rest != UINT64_MAX && ((rest >> 32 & ~kReplyBit) >> kKindShift) == kind)
        value = static_cast<uint32_t>(rest >> 32);
    }
    const bool further = bucket.passed.load(std::memory_order_relaxed) > 0;
    if (value != kNone) {
      const Mapping& mapping = mappings_[value & kIndex];
      found.reply = (value & kReplyBit) != 0;
      const size_t first = found.reply ? 0 : 2;
      found.to = key_of(mapping.words[first].load(std::memory_order_relaxed),
                        mapping.words[first + 1].load(std::memory_order_relaxed), key.kind);
      if (found.reply) found.to = found.to.reversed();
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

void MappingTable::prefetch_mapping(const FlowKey& key) const {
  for (const Entry& entry : buckets_[home(key)].entries)
    if (const uint64_t rest = entry.rest.load(std::memory_order_relaxed);
        rest != UINT64_MAX && static_cast<uint32_t>(rest) == ports_of(key))
      __builtin_prefetch(&mappings_[rest >> 32 & kIndex]);
}

void MappingTable::touch(uint32_t index, uint32_t now_s, uint8_t seen) {
  Mapping& mapping = mappings_[index];
  if (mapping.used_s.load(std::memory_order_relaxed) != now_s) mapping.used_s.store(now_s, std::memory_order_relaxed);
  if ((seen & kStart) != 0) {  // its ports are used again
    mapping.seen.store(0, std::memory_order_relaxed);
    mapping.shift.store(0, std::memory_order_relaxed);
  }
  seen &= static_cast<uint8_t>(~kStart);
  if ((mapping.seen.load(std::memory_order_relaxed) & seen) != seen)
    mapping.seen.fetch_or(seen, std::memory_order_relaxed);
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
  const uint32_t first = home(key);
  for (uint32_t steps = 0, at = first; steps <= mask_; ++steps, at = (at + 1) & mask_) {
    Bucket& bucket = buckets_[at];
    for (Entry& entry : bucket.entries) {
      if (entry.rest.load(std::memory_order_relaxed) != UINT64_MAX) continue;
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
  const uint32_t first = home(key);
  const uint64_t wanted = uint64_t{value} << 32 | ports_of(key);
  for (uint32_t steps = 0, at = first; steps <= mask_; ++steps, at = (at + 1) & mask_) {
    Bucket& bucket = buckets_[at];
    for (Entry& entry : bucket.entries) {
      if (entry.rest.load(std::memory_order_relaxed) != wanted ||
          entry.addresses.load(std::memory_order_relaxed) != addresses_of(key))
        continue;
      change(bucket, [&] { entry.rest.store(UINT64_MAX, std::memory_order_relaxed); });
      for (uint32_t before = first; before != at; before = (before + 1) & mask_)
        buckets_[before].passed.fetch_sub(1, std::memory_order_relaxed);
      return;
    }
  }
}

MappingTable::Mapping* MappingTable::place(const FlowKey& flow, const FlowKey& to, uint32_t outputs, uint32_t used_s,
                                           Outcome& outcome) {
  Rewrite there;
  outcome = find(flow, there) ? Outcome::made : find(to.reversed(), there) ? Outcome::taken : Outcome::full;
  uint32_t index = free_;
  if (outcome != Outcome::full || (index == kNone && fresh_ == capacity_)) return nullptr;
  if (index != kNone)
    free_ = mappings_[index].next_free;
  else
    index = fresh_++;
  Mapping& mapping = mappings_[index];
  mapping.words[0].store(addresses_of(flow), std::memory_order_relaxed);
  mapping.words[1].store(ports_of(flow), std::memory_order_relaxed);
  mapping.words[2].store(addresses_of(to), std::memory_order_relaxed);
  mapping.words[3].store(ports_of(to), std::memory_order_relaxed);
  mapping.outputs.store(outputs, std::memory_order_relaxed);
  mapping.used_s.store(used_s, std::memory_order_relaxed);
  mapping.seen.store(0, std::memory_order_relaxed);
  mapping.shift.store(0, std::memory_order_relaxed);
  mapping.used.store(true, std::memory_order_relaxed);
  const uint32_t value = index | static_cast<uint32_t>(flow.kind) << kKindShift;
  insert(flow, value);
  insert(to.reversed(), value | kReplyBit);
  size_.fetch_add(1, std::memory_order_relaxed);
  outcome = Outcome::made;
  return &mapping;
}

MappingTable::Outcome MappingTable::create(const FlowKey& flow, const FlowKey& to, uint8_t forward, uint8_t back,
                                           uint32_t now_s, uint8_t input) {
  const std::lock_guard one_at_a_time(changing_);
  if (moved_) return Outcome::moved;
  const uint32_t outputs =
      forward | uint32_t{back} << 8 | static_cast<uint32_t>(flow.kind) << 16 | uint32_t{input} << 24;
  Outcome outcome = Outcome::made, ignored = Outcome::made;
  if (place(flow, to, outputs, now_s, outcome) != nullptr && next_ != nullptr) {
    const std::lock_guard there(next_->changing_);
    next_->place(flow, to, outputs, now_s, ignored);
  }
  return outcome;
}

void MappingTable::remove_mapping(uint32_t index) {
  Mapping& mapping = mappings_[index];
  const auto kind = static_cast<Kind>(mapping.outputs >> 16 & 0xff);
  const uint32_t value = index | static_cast<uint32_t>(kind) << kKindShift;
  remove(key_of(mapping.words[0], mapping.words[1], kind), value);
  remove(key_of(mapping.words[2], mapping.words[3], kind).reversed(), value | kReplyBit);
  if (next_ != nullptr && !moved_) {
    const std::lock_guard there(next_->changing_);
    if (const Mapping* same = same_in(*next_, index))
      next_->remove_mapping(static_cast<uint32_t>(same - next_->mappings_.get()));
  }
  mapping.used.store(false, std::memory_order_relaxed);
  mapping.next_free = free_, free_ = index;
  size_.fetch_sub(1, std::memory_order_relaxed);
}

bool MappingTable::expire(uint32_t now_s, uint32_t count, const std::function<bool(const Idle&)>& dead) {
  const std::unique_lock one_at_a_time(changing_, std::try_to_lock);
  if (!one_at_a_time) return false;
  for (count = std::min(count, fresh_); count > 0; --count) {
    if (swept_ >= fresh_) swept_ = 0;
    const uint32_t index = swept_++;
    const Mapping& mapping = mappings_[index];
    if (!mapping.used.load(std::memory_order_relaxed)) continue;
    if (dead({static_cast<Kind>(mapping.outputs >> 16 & 0xff), mapping.seen, now_s - mapping.used_s}))
      remove_mapping(index);
  }
  return true;
}

void MappingTable::clear() {
  const std::lock_guard one_at_a_time(changing_);
  for (uint32_t index = 0; index < fresh_; ++index)
    if (mappings_[index].used) remove_mapping(index);
}

void MappingTable::clear_input(uint8_t input) {
  for (uint32_t index = 0, end = 0;; index = end) {
    const std::lock_guard one_at_a_time(changing_);  // packet threads may want to make mappings meanwhile
    end = std::min(index + kAtOnce, fresh_);
    for (; index < end; ++index)
      if (mappings_[index].used && mappings_[index].outputs >> 24 == input) remove_mapping(index);
    if (end == fresh_) return;
  }
}

MappingTable::Mapping* MappingTable::same_in(MappingTable& other, uint32_t index) const {
  const Mapping& mapping = mappings_[index];
  Rewrite found;
  const auto kind = static_cast<Kind>(mapping.outputs >> 16 & 0xff);
  if (!other.find(key_of(mapping.words[0], mapping.words[1], kind), found) || found.reply ||
      found.to != key_of(mapping.words[2], mapping.words[3], kind))
    return nullptr;
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
      const auto kind = static_cast<Kind>(mapping.outputs >> 16 & 0xff);
      Outcome ignored = Outcome::made;
      Mapping* made =
          other.place(key_of(mapping.words[0], mapping.words[1], kind),
                      key_of(mapping.words[2], mapping.words[3], kind), mapping.outputs, mapping.used_s, ignored);
      if (made == nullptr) continue;  // since next_ is set
      made->seen.store(mapping.seen);
      made->shift.store(mapping.shift);
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
    if (static_cast<int32_t>(mapping.used_s - same->used_s) > 0) same->used_s.store(mapping.used_s);
  }
}

void MappingTable::set_shift(uint32_t index, Shift shift) {
  const std::lock_guard one_at_a_time(changing_);  // seldom
  const auto word = std::bit_cast<uint64_t>(shift);
  mappings_[index].shift.store(word, std::memory_order_relaxed);
  if (next_ == nullptr) return;
  const std::lock_guard there(next_->changing_);
  if (Mapping* same = same_in(*next_, index)) same->shift.store(word, std::memory_order_relaxed);
}

void MappingTable::copy(const MappingTable& other, int outputs) {
  for (uint32_t index = 0; index < other.fresh_; ++index) {
    const Mapping& mapping = other.mappings_[index];
    const uint32_t ways = mapping.outputs;
    const auto forward = static_cast<uint8_t>(ways), back = static_cast<uint8_t>(ways >> 8);
    if (!mapping.used || std::max(forward, back) >= outputs) continue;
    const auto kind = static_cast<Kind>(ways >> 16 & 0xff);
    const FlowKey flow = key_of(mapping.words[0], mapping.words[1], kind);
    if (create(flow, key_of(mapping.words[2], mapping.words[3], kind), forward, back, mapping.used_s,
               static_cast<uint8_t>(ways >> 24)) == Outcome::full)
      return;
    if (Rewrite made; find(flow, made)) {
      touch(made.mapping, mapping.used_s, mapping.seen);
      set_shift(made.mapping, other.shift(index));
    }
  }
}

void MappingTable::visit(uint32_t now_s,
                         const std::function<void(const FlowKey&, const FlowKey&, uint8_t, uint32_t)>& each) const {
  bool more = true;
  for (uint32_t index = 0; more;) {
    const std::lock_guard one_at_a_time(changing_);
    const uint32_t end = std::min(index + kAtOnce, fresh_);
    more = end < fresh_;
    for (; index < end; ++index) {
      const Mapping& mapping = mappings_[index];
      if (!mapping.used) continue;
      const auto kind = static_cast<Kind>(mapping.outputs >> 16 & 0xff);
      each(key_of(mapping.words[0], mapping.words[1], kind), key_of(mapping.words[2], mapping.words[3], kind),
           static_cast<uint8_t>(mapping.outputs), now_s - mapping.used_s);
    }
  }
}

}  // namespace heddle::nat
