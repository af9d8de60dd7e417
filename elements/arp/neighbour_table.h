#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <random>

#include "click/values.h"

namespace heddle {

/** An address as it lies in packets, in words; all of them 0: none. */
template <class Word, size_t n>
struct AddressWords {
  std::array<Word, n> word{};
  bool operator==(const AddressWords&) const = default;
  explicit operator bool() const { return *this != AddressWords{}; }
  /** Nobody else knows which addresses have the same. */
  uint32_t hash() const {
    static const uint64_t seed = uint64_t{std::random_device{}()} << 1 | 1;
    uint64_t sum = seed;
    for (const Word each : word) sum = (sum ^ each) * 0x9e3779b97f4a7c15, sum ^= sum >> 29;
    return static_cast<uint32_t>(sum * 0x9e3779b97f4a7c15 >> 32);
  }
};

/** A lock that is held for a few loads and stores. */
class BriefLock {
 public:
  explicit BriefLock(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
  }
  ~BriefLock() { flag_.clear(std::memory_order_release); }
  BriefLock(const BriefLock&) = delete;
  BriefLock& operator=(const BriefLock&) = delete;

 private:
  std::atomic_flag& flag_;
};

/** Addresses and their Ethernet addresses. Any thread looks up, without waiting; changes are made one at a time, which
 *  the caller sees to. A fixed number of entries: a new one has a place among its kWays, which is a free one, else that
 *  of an entry which nobody uses, else that of the oldest. */
template <class Address>
class NeighbourTable {
 public:
  static constexpr uint32_t kWays = 8;

  /** Has room for `capacity` entries or some more, a power of two. */
  explicit NeighbourTable(uint32_t capacity)
      : mask_(std::bit_ceil((capacity + kWays - 1) / kWays) - 1),
        entries_(std::make_unique<Entry[]>(size_t{mask_ + 1} * kWays)) {}

  struct Found {
    click::EthernetAddress ethernet;
    uint32_t since_ms = 0;  ///< when it was set, in the caller's time
    bool in_use = false;    ///< it was set as wanted, or has been used since
  };

  std::optional<Found> find(const Address& address) const {
    const Entry* group = ways(address);
    for (uint32_t way = 0; way < kWays; ++way)
      if (group[way].is(address)) return read(group[way], address);
    return {};
  }

  /** The same, and notes that the entry is used. */
  std::optional<Found> use(const Address& address) {
    Entry* group = ways(address);
    for (uint32_t way = 0; way < kWays; ++way) {
      if (!group[way].is(address)) continue;
      const auto found = read(group[way], address);
      if (found && !found->in_use) group[way].ethernet.fetch_or(kInUse, std::memory_order_relaxed);
      return found;
    }
    return {};
  }

  /** Sets an entry. `wanted`: somebody has asked for it; if not, it takes no place of an entry that is in use. Entries
   *  set longer than `timeout_ms` ago are not, 0: they never end. False: there is no place. */
  bool set(const Address& address, const click::EthernetAddress& ethernet, uint32_t now_ms, bool wanted,
           uint32_t timeout_ms) {
    Entry* group = ways(address);
    Entry *free = nullptr, *idle = nullptr, *oldest = group;
    for (uint32_t way = 0; way < kWays; ++way) {
      Entry& entry = group[way];
      const uint64_t now = entry.ethernet.load(std::memory_order_relaxed);
      if (entry.is(address)) {
        write(entry, address, ethernet, now_ms, wanted || (now & kInUse) != 0);
        return true;
      }
      const bool ended = timeout_ms != 0 && now_ms - entry.since_ms > timeout_ms;
      if (entry.is({}) && free == nullptr) free = &entry;
      if ((ended || (now & kInUse) == 0) && (idle == nullptr || is_older(entry, *idle))) idle = &entry;
      if (is_older(entry, *oldest)) oldest = &entry;
    }
    Entry* place = free != nullptr ? free : idle != nullptr ? idle : wanted ? oldest : nullptr;
    if (place == nullptr) return false;
    (free == nullptr ? replaced_ : size_).fetch_add(1, std::memory_order_relaxed);
    write(*place, address, ethernet, now_ms, wanted);
    return true;
  }

  /** Whether the caller is to ask for `address` again, which is there: not more than once in `every_ms`, as long as it
   *  is not set meanwhile. Any thread. */
  bool is_asked_again(const Address& address, uint32_t now_ms, uint32_t every_ms) {
    Entry* group = ways(address);
    for (uint32_t way = 0; way < kWays; ++way) {
      if (!group[way].is(address)) continue;
      uint64_t was = group[way].ethernet.load(std::memory_order_relaxed);
      const uint64_t since = (ticks(now_ms) - (was >> kEthernetBits)) & kTickMask;
      return since > every_ms / kTickMs &&
             group[way].ethernet.compare_exchange_strong(was, with_time(was, now_ms), std::memory_order_relaxed);
    }
    return false;
  }

  /** False if it is not there. */
  bool remove(const Address& address) {
    Entry* group = ways(address);
    for (uint32_t way = 0; way < kWays; ++way) {
      if (!group[way].is(address)) continue;
      write(group[way], {}, {}, 0, false);
      size_.fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
    return false;
  }

  void clear() {
    for (size_t i = 0; i < places(); ++i)
      if (!entries_[i].is({})) write(entries_[i], {}, {}, 0, false);
    size_ = 0;
  }

  uint32_t places() const { return (mask_ + 1) * kWays; }
  uint64_t size() const { return size_.load(std::memory_order_relaxed); }
  uint64_t replaced() const { return replaced_.load(std::memory_order_relaxed); }  ///< entries that went for others

  void visit(const std::function<void(const Address&, const Found&)>& each) const {
    for (size_t i = 0; i < places(); ++i) {
      const Address address = entries_[i].address();
      if (!address) continue;
      if (const auto found = read(entries_[i], address)) each(address, *found);
    }
  }

 private:
  /** Readers take `version` before and after; odd: it is being changed. */
  struct alignas(32) Entry {
    std::atomic<uint32_t> version{0}, since_ms{0};
    std::array<std::atomic<typename decltype(Address::word)::value_type>, sizeof(Address) / sizeof(Address{}.word[0])>
        word{};  // all 0: free
    /** The low 48 bits as they lie in memory; above them, when it was asked for since it was set, in ticks (if it has
     *  not been, long ago), and kInUse. */
    std::atomic<uint64_t> ethernet{0};

    bool is(const Address& wanted) const {
      for (size_t i = 0; i < word.size(); ++i)
        if (word[i].load(std::memory_order_relaxed) != wanted.word[i]) return false;
      return true;
    }
    Address address() const {
      Address now;
      for (size_t i = 0; i < word.size(); ++i) now.word[i] = word[i].load(std::memory_order_relaxed);
      return now;
    }
  };

  static constexpr int kEthernetBits = 48;
  static constexpr uint64_t kInUse = uint64_t{1} << 63;
  static constexpr uint32_t kTickMs = 128, kTickMask = 0x7fff;  // 15 bits of them are an hour
  static uint64_t ticks(uint32_t ms) { return ms / kTickMs & kTickMask; }
  static uint64_t with_time(uint64_t ethernet, uint32_t ms) {
    return (ethernet & (kInUse | ((uint64_t{1} << kEthernetBits) - 1))) | ticks(ms) << kEthernetBits;
  }
  static bool is_older(const Entry& one, const Entry& other) {
    return static_cast<int32_t>(one.since_ms - other.since_ms) < 0;
  }

  Entry* ways(const Address& address) const { return &entries_[size_t{address.hash() & mask_} * kWays]; }

  static std::optional<Found> read(const Entry& entry, const Address& address) {
    const uint32_t before = entry.version.load(std::memory_order_acquire);
    if (!entry.is(address) || before % 2 != 0) return {};
    const uint64_t ethernet = entry.ethernet.load(std::memory_order_relaxed);
    Found found{{}, entry.since_ms.load(std::memory_order_relaxed), (ethernet & kInUse) != 0};
    std::atomic_thread_fence(std::memory_order_acquire);
    if (entry.version.load(std::memory_order_relaxed) != before)
      return {};  // asked for again, as if it were not there yet
    std::memcpy(found.ethernet.bytes.data(), &ethernet, 6);
    return found;
  }

  static void write(Entry& entry, const Address& address, const click::EthernetAddress& ethernet, uint32_t now_ms,
                    bool in_use) {
    uint64_t bytes = in_use ? kInUse : 0;
    std::memcpy(&bytes, ethernet.bytes.data(), 6);
    const uint32_t version = entry.version.load(std::memory_order_relaxed);
    entry.version.store(version + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    for (size_t i = 0; i < entry.word.size(); ++i) entry.word[i].store(address.word[i], std::memory_order_relaxed);
    constexpr uint32_t kLongAgoMs = kTickMask / 2 * kTickMs;
    entry.ethernet.store(with_time(bytes, now_ms - kLongAgoMs), std::memory_order_relaxed);
    entry.since_ms.store(now_ms, std::memory_order_relaxed);
    entry.version.store(version + 2, std::memory_order_release);
  }

  uint32_t mask_;  // of groups
  std::unique_ptr<Entry[]> entries_;
  std::atomic<uint64_t> size_{0}, replaced_{0};
};

}  // namespace heddle
