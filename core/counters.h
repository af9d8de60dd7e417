#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "core/cache_line.h"

namespace heddle {

constexpr int kMaxThreads = 128;

/** Counts. One writer, any reader: no locked instruction needed. */
inline void add(std::atomic<uint64_t>& counter, uint64_t more) {
  counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

/** Renews a copy for readers. What has not changed is not written: a reader who polls takes the line back between any
 *  two writes. */
inline void publish(const std::atomic<uint64_t>& from, std::atomic<uint64_t>& copy) {
  const uint64_t value = from.load(std::memory_order_relaxed);
  if (copy.load(std::memory_order_relaxed) != value) copy.store(value, std::memory_order_relaxed);
}

/** Packets and bytes. Written by one thread, read by any: the writer pays a plain add. */
struct Counts {
  std::atomic<uint64_t> packets{0}, bytes{0};
  void add(uint64_t more_packets, uint64_t more_bytes) {
    heddle::add(packets, more_packets);
    heddle::add(bytes, more_bytes);
  }
  void publish(Counts& copy) const {
    heddle::publish(packets, copy.packets);
    heddle::publish(bytes, copy.bytes);
  }
};

/** What an element counts for its readers, a counter a thread. Packet threads count on cache lines of their own;
 *  readers see what has been published, about once in a millisecond and whenever nothing arrives, so that a reader who
 *  polls takes no line from a thread at every batch. */
class PerThreadCounts {
 public:
  /** `published`: Element::counts, whose owner the engine tells to publish. */
  explicit PerThreadCounts(std::vector<PerThreadCounts*>& published) { published.push_back(this); }
  PerThreadCounts(const PerThreadCounts&) = delete;
  PerThreadCounts& operator=(const PerThreadCounts&) = delete;

  Counts& operator[](int thread) { return counts_[static_cast<size_t>(thread)]; }
  /** Called on that thread. */
  void publish(int thread) {
    const auto i = static_cast<size_t>(thread);
    counts_[i].publish(published_[i]);
  }

  uint64_t packets() const { return since(packets_before_, &Counts::packets); }
  uint64_t bytes() const { return since(bytes_before_, &Counts::bytes); }
  /** Goes on where `other`, whose threads have published and do not run, has got to; that begins again at 0. */
  void take(PerThreadCounts& other) {
    packets_before_ -= other.packets(), bytes_before_ -= other.bytes();
    other.reset();
  }
  /** Begins again at 0. What the threads have counted stays: a reset there would be undone by an add() under way. */
  void reset() { packets_before_ = sum(&Counts::packets), bytes_before_ = sum(&Counts::bytes); }

 private:
  struct alignas(kCacheLine) Line : Counts {};
  // The reset first: a sum taken before it may be less.
  uint64_t since(const std::atomic<uint64_t>& before, std::atomic<uint64_t> Counts::*which) const {
    const uint64_t start = before.load(std::memory_order_acquire);
    return sum(which) - start;
  }
  uint64_t sum(std::atomic<uint64_t> Counts::*which) const {
    uint64_t total = 0;
    for (auto& line : published_) total += (line.*which).load(std::memory_order_relaxed);
    return total;
  }
  std::array<Line, kMaxThreads> counts_;
  std::vector<Line, Unshared<Line, kPage>> published_{kMaxThreads};
  std::atomic<uint64_t> packets_before_{0}, bytes_before_{0};  // the last reset
};

}  // namespace heddle
