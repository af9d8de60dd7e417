#include "elements/analysis/aggregate_table.h"

#include <algorithm>
#include <bit>
#include <new>
#include <random>

namespace heddle {

void AggregateTable::make(uint32_t capacity) {
  const size_t places = std::bit_ceil(size_t{capacity} + capacity / 4 + 1);
  entries_.reset(static_cast<Entry*>(std::calloc(places, sizeof(Entry))));
  if (entries_ == nullptr) throw std::bad_alloc();
  mask_ = places - 1, capacity_ = capacity;
  std::random_device random;
  secret_ = uint64_t{random()} << 32 | random() | 1;
}

size_t AggregateTable::first_place(uint32_t aggregate) const {
  uint64_t hash = (aggregate ^ secret_ >> 32) * secret_;
  hash ^= hash >> 32;
  hash *= 0xc2b2ae3d27d4eb4fu;
  return hash >> 32 & mask_;
}

uint64_t* AggregateTable::find(uint32_t aggregate) {
  for (size_t at = first_place(aggregate); entries_[at].generation == generation_; at = (at + 1) & mask_)
    if (entries_[at].aggregate == aggregate) return &entries_[at].number;
  return nullptr;
}

uint64_t* AggregateTable::add(uint32_t aggregate) {
  const uint32_t size = size_.load(std::memory_order_relaxed);
  if (size == capacity_) return nullptr;
  size_t at = first_place(aggregate);
  while (entries_[at].generation == generation_) at = (at + 1) & mask_;
  Entry& entry = entries_[at];
  set(entry.number, 0);
  std::atomic_ref(entry.aggregate).store(aggregate, std::memory_order_relaxed);
  std::atomic_ref(entry.generation).store(generation_, std::memory_order_release);
  size_.store(size + 1, std::memory_order_relaxed);
  return &entry.number;
}

void AggregateTable::remove(uint32_t aggregate) {
  size_t hole = first_place(aggregate);
  while (entries_[hole].aggregate != aggregate) hole = (hole + 1) & mask_;
  // Those behind it that the way from their first place would no longer lead to move up.
  for (size_t at = (hole + 1) & mask_; entries_[at].generation == generation_; at = (at + 1) & mask_) {
    const size_t first = first_place(entries_[at].aggregate);
    if (((at - first) & mask_) < ((at - hole) & mask_)) continue;
    entries_[hole] = entries_[at];
    hole = at;
  }
  entries_[hole].generation = generation_ - 1;
  size_.store(size_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

void AggregateTable::clear() {
  size_.store(0, std::memory_order_relaxed);
  if (++generation_ != UINT32_MAX) return;
  std::fill_n(entries_.get(), mask_ + 1, Entry{});  // after 4,294,967,294 times
  generation_ = 1;
}

std::vector<std::pair<uint32_t, uint64_t>> AggregateTable::entries() const {
  std::vector<std::pair<uint32_t, uint64_t>> list;
  list.reserve(size());
  for (size_t at = 0; entries_ != nullptr && at <= mask_; ++at) {
    Entry& entry = entries_[at];
    if (std::atomic_ref(entry.generation).load(std::memory_order_acquire) != generation_) continue;
    list.emplace_back(std::atomic_ref(entry.aggregate).load(std::memory_order_relaxed),
                      std::atomic_ref(entry.number).load(std::memory_order_relaxed));
  }
  std::sort(list.begin(), list.end());
  return list;
}

void AggregateTable::swap(AggregateTable& other) {
  std::swap(entries_, other.entries_), std::swap(mask_, other.mask_), std::swap(secret_, other.secret_);
  std::swap(generation_, other.generation_);
  size_ = other.size_.exchange(size_);
}

}  // namespace heddle
