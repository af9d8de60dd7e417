#include "elements/nat/mapping_table.h"

#include <algorithm>
#include <bit>

namespace heddle::nat {

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

MappingTable::Outcome MappingTable::create(const FlowKey& flow, const FlowKey& to, uint8_t forward, uint8_t back,
                                           uint32_t now_s) {
  const std::lock_guard one_at_a_time(changing_);
  Rewrite there;
  if (find(flow, there)) return Outcome::made;
  if (find(to.reversed(), there)) return Outcome::taken;
  uint32_t index = free_;
  if (index != kNone)
    free_ = mappings_[index].next_free;
  else if (fresh_ < capacity_)
    index = fresh_++;
  else
    return Outcome::full;
  Mapping& mapping = mappings_[index];
  mapping.words[0].store(addresses_of(flow), std::memory_order_relaxed);
  mapping.words[1].store(ports_of(flow), std::memory_order_relaxed);
  mapping.words[2].store(addresses_of(to), std::memory_order_relaxed);
  mapping.words[3].store(ports_of(to), std::memory_order_relaxed);
  mapping.outputs.store(forward | uint32_t{back} << 8 | static_cast<uint32_t>(flow.kind) << 16,
                        std::memory_order_relaxed);
  mapping.used_s.store(now_s, std::memory_order_relaxed);
  mapping.seen.store(0, std::memory_order_relaxed);
  mapping.shift.store(0, std::memory_order_relaxed);
  mapping.used.store(true, std::memory_order_relaxed);
  const uint32_t value = index | static_cast<uint32_t>(flow.kind) << kKindShift;
  insert(flow, value);
  insert(to.reversed(), value | kReplyBit);
  size_.fetch_add(1, std::memory_order_relaxed);
  return Outcome::made;
}

void MappingTable::remove_mapping(uint32_t index) {
  Mapping& mapping = mappings_[index];
  const auto kind = static_cast<Kind>(mapping.outputs >> 16 & 0xff);
  const uint32_t value = index | static_cast<uint32_t>(kind) << kKindShift;
  remove(key_of(mapping.words[0], mapping.words[1], kind), value);
  remove(key_of(mapping.words[2], mapping.words[3], kind).reversed(), value | kReplyBit);
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

void MappingTable::copy(const MappingTable& other, int outputs) {
  for (uint32_t index = 0; index < other.fresh_; ++index) {
    const Mapping& mapping = other.mappings_[index];
    const uint32_t ways = mapping.outputs;
    const auto forward = static_cast<uint8_t>(ways), back = static_cast<uint8_t>(ways >> 8);
    if (!mapping.used || std::max(forward, back) >= outputs) continue;
    const auto kind = static_cast<Kind>(ways >> 16 & 0xff);
    const FlowKey flow = key_of(mapping.words[0], mapping.words[1], kind);
    if (create(flow, key_of(mapping.words[2], mapping.words[3], kind), forward, back, mapping.used_s) == Outcome::full)
      return;
    if (Rewrite made; find(flow, made)) {
      touch(made.mapping, mapping.used_s, mapping.seen);
      set_shift(made.mapping, other.shift(index));
    }
  }
}

void MappingTable::visit(uint32_t now_s,
                         const std::function<void(const FlowKey&, const FlowKey&, uint8_t, uint32_t)>& each) const {
  constexpr uint32_t kAtOnce = 1024;  // packet threads may want to make mappings meanwhile
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
