#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "click/values.h"
#include "core/cache_line.h"

namespace heddle {

/** IPv4 addresses and their Ethernet addresses. Any thread looks up, without waiting; changes are made one at a time, which
 *  the caller sees to. A fixed number of entries: when a new one finds no place among its kWays, the oldest there goes. */
class ArpTable {
 public:
  static constexpr uint32_t kWays = 8;

  /** Has room for `capacity` entries or some more, a power of two. */
  explicit ArpTable(uint32_t capacity);

  struct Found {
    click::EthernetAddress ethernet;
    uint32_t since_ms = 0;  ///< when it was set, in the caller's time
  };
  /** `ip` as it lies in packets. */
  std::optional<Found> find(uint32_t ip) const;
  void set(uint32_t ip, const click::EthernetAddress& ethernet, uint32_t now_ms);
  /** False if it is not there. */
  bool remove(uint32_t ip);
  void clear();
  uint32_t places() const { return (mask_ + 1) * kWays; }
  uint32_t size() const { return size_.load(std::memory_order_relaxed); }
  uint64_t replaced() const { return replaced_.load(std::memory_order_relaxed); }  ///< entries that went for others
  void visit(const std::function<void(uint32_t ip, const Found&)>& each) const;

 private:
  /** Readers take `version` before and after; odd: it is being changed. */
  struct alignas(32) Entry {
    std::atomic<uint32_t> version{0}, ip{0};  // ip 0: free
    std::atomic<uint64_t> ethernet{0};        // the low 48 bits, as they lie in memory
    std::atomic<uint32_t> since_ms{0};
  };
  Entry* ways(uint32_t ip) const { return &entries_[static_cast<size_t>(((ip * 2654435761u) >> 8) & mask_) * kWays]; }
  static std::optional<Found> read(const Entry& entry, uint32_t ip);
  static void write(Entry& entry, uint32_t ip, uint64_t ethernet, uint32_t now_ms);

  uint32_t mask_;  // of groups
  std::unique_ptr<Entry[]> entries_;
  std::atomic<uint32_t> size_{0};
  std::atomic<uint64_t> replaced_{0};
};

}  // namespace heddle
