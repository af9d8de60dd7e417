#include "functions/cuckoo/table.h"

#include <algorithm>
#include <thread>

namespace heddle::cuckoo {
namespace {

constexpr size_t kMaxSearched = 2048;  // buckets that are looked at for a free slot
constexpr size_t kMaxGathered = 256;   // words that go to copies together

}  // namespace

void CuckooTable::reset(size_t capacity, uint64_t seed, uint32_t owner, std::array<uint32_t, 2> constants) {
  constexpr double kLoad = 0.9;  // up to which room is nearly always found
  const auto buckets = std::max<size_t>(2, static_cast<size_t>(static_cast<double>(capacity) / kLoad) / kSlots + 1);
  bytes_ = sizeof(Image) + buckets * sizeof(Bucket);
  memory_ = map_huge_pages(bytes_);
  capacity_ = capacity;
  size_ = 0;
  gathered_.reserve(kMaxGathered);
  *reinterpret_cast<Image*>(memory_.get()) = {.moves = 0,
                                              .seed = seed,
                                              .buckets = static_cast<uint32_t>(buckets),
                                              .owner = owner,
                                              .constants = {constants[0], constants[1]}};
}

void CuckooTable::swap_entries(CuckooTable& other) {
  for (CuckooTable* one : {this, &other}) one->publish();
  std::swap(memory_, other.memory_), std::swap(bytes_, other.bytes_), std::swap(capacity_, other.capacity_);
  size_ = other.size_.exchange(size_);
}

CuckooTable::Writer::Writer(CuckooTable& table) : table_(&table), publishes_(true) {
  while (table.writing_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
}

std::optional<CuckooTable::Writer> CuckooTable::Writer::if_free(CuckooTable& table) {
  if (table.writing_.test_and_set(std::memory_order_acquire)) return std::nullopt;
  return Writer(table, Taken{});
}

template <class T>
void CuckooTable::store(T& word, T value) {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
  if (!has_copies()) return;
  const auto offset = static_cast<size_t>(reinterpret_cast<std::byte*>(&word) - memory_.get());
  // While entries move, readers must see each word in its order, and that they move as well.
  if (sizeof word == sizeof(uint64_t) && image().moves % 2 == 0) {
    gather({offset, value, sizeof word});
  } else {
    publish();
    changed(offset, std::as_bytes(std::span(&word, 1)));
  }
}

void CuckooTable::gather(const TableWord& word) {
  const auto before = std::ranges::find(gathered_, word.offset, &TableWord::offset);
  if (before != gathered_.end()) {
    before->value = word.value;
    return;
  }
  gathered_.push_back(word);
  if (gathered_.size() == kMaxGathered) publish();
}

void CuckooTable::publish() {
  if (!gathered_.empty()) changed(gathered_);
  gathered_.clear();
}

bool CuckooTable::Writer::set(uint32_t hash, uint64_t key, uint16_t value) {
  CuckooTable& table = *table_;
  const Image& image = table.image();
  const uint64_t wanted = key | uint64_t{value} << kValueShift;
  const uint32_t first = first_bucket(image, hash), second = other_bucket(image, first, key);
  for (const uint32_t number : {first, second})
    for (uint64_t& word : table.bucket(number).word)
      if (word != 0 && (word & kKeyMask) == key) {
        if (word != wanted) table.store(word, wanted);
        return true;
      }
  if (table.size() >= table.capacity_) return false;
  uint64_t* free = table.make_room(first, second);
  if (free == nullptr) return false;
  table.store(*free, wanted);
  table.size_.store(table.size() + 1, std::memory_order_relaxed);
  return true;
}

/** A search in breadth finds the shortest way to a free slot; then entries move along it, the last one first. */
uint64_t* CuckooTable::make_room(uint32_t first, uint32_t second) {
  struct Step {
    uint32_t bucket;
    int16_t before;  // the step whose entry would come here
    int16_t slot;    // of that entry
  };
  static_assert(kMaxSearched <= INT16_MAX);
  Step steps[kMaxSearched];
  steps[0] = {first, -1, 0}, steps[1] = {second, -1, 0};
  int count = 2;
  for (int at = 0; at < count; ++at) {
    uint64_t* words = bucket(steps[at].bucket).word;
    uint64_t* free = std::find(words, words + kSlots, 0u);
    if (free == words + kSlots) {
      for (int slot = 0; slot < kSlots && count < static_cast<int>(kMaxSearched); ++slot)
        steps[count++] = {other_bucket(image(), steps[at].bucket, words[slot] & kKeyMask), static_cast<int16_t>(at),
                          static_cast<int16_t>(slot)};
      continue;
    }
    if (steps[at].before < 0) return free;
    store(own_image().moves, image().moves + 1);
    std::atomic_thread_fence(std::memory_order_release);
    for (const Step* step = &steps[at]; step->before >= 0; step = &steps[step->before]) {
      uint64_t& from = bucket(steps[step->before].bucket).word[step->slot];
      store(*free, from);
      free = &from;
    }
    store(*free, uint64_t{0});
    store(own_image().moves, image().moves + 1);
    return free;
  }
  return nullptr;
}

bool CuckooTable::Writer::remove(uint32_t hash, uint64_t key) {
  CuckooTable& table = *table_;
  const uint32_t first = first_bucket(table.image(), hash);
  for (const uint32_t number : {first, other_bucket(table.image(), first, key)})
    for (uint64_t& word : table.bucket(number).word)
      if (word != 0 && (word & kKeyMask) == key) {
        table.store(word, uint64_t{0});
        table.size_.store(table.size() - 1, std::memory_order_relaxed);
        return true;
      }
  return false;
}

void CuckooTable::Writer::remove_if(uint32_t first, uint32_t last, const std::function<bool(uint64_t word)>& gone) {
  CuckooTable& table = *table_;
  for (uint32_t number = first; number < last; ++number)
    for (uint64_t& word : table.bucket(number).word)
      if (word != 0 && gone(word)) {
        table.store(word, uint64_t{0});
        table.size_.store(table.size() - 1, std::memory_order_relaxed);
      }
}

void CuckooTable::Writer::set_owner(uint32_t owner) { table_->store(table_->own_image().owner, owner); }

uint64_t CuckooTable::find(uint32_t hash, uint64_t key) const {
  for (;; std::this_thread::yield()) {
    const uint32_t before = moves_of(image());
    if (const uint64_t word = lookup(image(), hash, key); word != 0) return word;
    fence();
    if (before % 2 == 0 && moves_of(image()) == before) return 0;
  }
}

void CuckooTable::each(const std::function<void(uint64_t)>& visit) const {
  for (uint32_t number = 0; number < image().buckets; ++number)
    for (const uint64_t& word : bucket_of(image(), number).word)
      if (const uint64_t value = __atomic_load_n(&word, __ATOMIC_ACQUIRE); value != 0) visit(value);
}

}  // namespace heddle::cuckoo
