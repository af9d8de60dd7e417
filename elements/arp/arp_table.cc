#include "elements/arp/arp_table.h"

#include <bit>
#include <cstring>

namespace heddle {

ArpTable::ArpTable(uint32_t capacity)
    : mask_(std::bit_ceil((capacity + kWays - 1) / kWays) - 1),
      entries_(std::make_unique<Entry[]>(size_t{mask_ + 1} * kWays)) {}

std::optional<ArpTable::Found> ArpTable::read(const Entry& entry, uint32_t ip) {
  const uint32_t before = entry.version.load(std::memory_order_acquire);
  if (entry.ip.load(std::memory_order_relaxed) != ip || before % 2 != 0) return {};
  const uint64_t ethernet = entry.ethernet.load(std::memory_order_relaxed);
  Found found{{}, entry.since_ms.load(std::memory_order_relaxed)};
  std::atomic_thread_fence(std::memory_order_acquire);
  if (entry.version.load(std::memory_order_relaxed) != before)
    return {};  // asked for again, as if it were not there yet
  std::memcpy(found.ethernet.bytes.data(), &ethernet, 6);
  return found;
}

void ArpTable::write(Entry& entry, uint32_t ip, uint64_t ethernet, uint32_t now_ms) {
  const uint32_t version = entry.version.load(std::memory_order_relaxed);
  entry.version.store(version + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  entry.ip.store(ip, std::memory_order_relaxed);
  entry.ethernet.store(ethernet, std::memory_order_relaxed);
  entry.since_ms.store(now_ms, std::memory_order_relaxed);
  entry.version.store(version + 2, std::memory_order_release);
}

std::optional<ArpTable::Found> ArpTable::find(uint32_t ip) const {
  const Entry* group = ways(ip);
  for (uint32_t way = 0; way < kWays; ++way)
    if (group[way].ip.load(std::memory_order_relaxed) == ip) return read(group[way], ip);
  return {};
}

void ArpTable::set(uint32_t ip, const click::EthernetAddress& ethernet, uint32_t now_ms) {
  uint64_t word = 0;
  std::memcpy(&word, ethernet.bytes.data(), 6);
  Entry* group = ways(ip);
  Entry *place = nullptr, *oldest = group;
  for (uint32_t way = 0; way < kWays; ++way) {
    const uint32_t there = group[way].ip.load(std::memory_order_relaxed);
    if (there == ip) return write(group[way], ip, word, now_ms);
    if (there == 0 && place == nullptr) place = &group[way];
    if (static_cast<int32_t>(group[way].since_ms - oldest->since_ms) < 0) oldest = &group[way];
  }
  if (place == nullptr) {
    place = oldest;
    replaced_.fetch_add(1, std::memory_order_relaxed);
  } else {
    size_.fetch_add(1, std::memory_order_relaxed);
  }
  write(*place, ip, word, now_ms);
}

bool ArpTable::remove(uint32_t ip) {
  Entry* group = ways(ip);
  for (uint32_t way = 0; way < kWays; ++way) {
    if (group[way].ip.load(std::memory_order_relaxed) != ip) continue;
    write(group[way], 0, 0, 0);
    size_.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }
  return false;
}

void ArpTable::clear() {
  for (size_t i = 0; i < size_t{mask_ + 1} * kWays; ++i)
    if (entries_[i].ip.load(std::memory_order_relaxed) != 0) write(entries_[i], 0, 0, 0);
  size_ = 0;
}

void ArpTable::visit(const std::function<void(uint32_t, const Found&)>& each) const {
  for (size_t i = 0; i < size_t{mask_ + 1} * kWays; ++i) {
    const uint32_t ip = entries_[i].ip.load(std::memory_order_relaxed);
    if (ip == 0) continue;
    if (const auto found = read(entries_[i], ip)) each(ip, *found);
  }
}

}  // namespace heddle
