#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace heddle {

constexpr int kMaxThreads = 128;

/** Packets and bytes. Written by one thread, read by any: the writer pays a plain add. */
struct Counts {
  std::atomic<uint64_t> packets{0}, bytes{0};
  void add(uint64_t more_packets, uint64_t more_bytes) {
    packets.store(packets.load(std::memory_order_relaxed) + more_packets, std::memory_order_relaxed);
    bytes.store(bytes.load(std::memory_order_relaxed) + more_bytes, std::memory_order_relaxed);
  }
};

/** One counter a thread, each on its own cache line. A read does not stop the writers, but takes their lines for a moment: each
 *  thread then misses once at its next batch. */
class PerThreadCounts {
 public:
  Counts& operator[](int thread) { return counts_[static_cast<size_t>(thread)].counts; }
  uint64_t packets() const { return since(packets_before_, &Counts::packets); }
  uint64_t bytes() const { return since(bytes_before_, &Counts::bytes); }
  /** Begins again at 0. What the threads have counted stays: a reset there would be undone by an add() under way. */
  void reset() { packets_before_ = sum(&Counts::packets), bytes_before_ = sum(&Counts::bytes); }

 private:
  struct alignas(64) Line {
    Counts counts;
  };
  // The reset first: a sum taken before it may be less.
  uint64_t since(const std::atomic<uint64_t>& before, std::atomic<uint64_t> Counts::*which) const {
    const uint64_t start = before.load(std::memory_order_acquire);
    return sum(which) - start;
  }
  uint64_t sum(std::atomic<uint64_t> Counts::*which) const {
    uint64_t total = 0;
    for (auto& line : counts_) total += (line.counts.*which).load(std::memory_order_relaxed);
    return total;
  }
  std::array<Line, kMaxThreads> counts_;
  std::atomic<uint64_t> packets_before_{0}, bytes_before_{0};  // the last reset
};

}  // namespace heddle
