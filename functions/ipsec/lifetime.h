#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace heddle::ipsec {

/** What an association may do before it is to be replaced (soft) and before it ends (hard); RFC 4301, 4.4.2.1. */
struct Limits {
  static constexpr uint64_t kNone = ~uint64_t{0};
  uint64_t soft_packets = kNone, hard_packets = kNone, soft_bytes = kNone, hard_bytes = kNone;
  bool any() const { return std::min({soft_packets, hard_packets, soft_bytes, hard_bytes}) != kNone; }
};

/** How much of its limits an association has used. Any number of threads. `news` counts the limits that are reached. */
class Lifetime {
 public:
  enum class State : uint8_t { fresh, soft, hard };

  Lifetime(const Limits& limits, uint64_t packets, uint64_t bytes, std::atomic<uint64_t>& news)
      : limits_(limits), packets_(packets), bytes_(bytes), news_(news) {
    raise(packets, bytes);
  }

  /** One more packet; false if a hard limit has been reached before. So bytes end within a packet of theirs. */
  bool take(uint32_t bytes) {
    if (state() == State::hard) return false;
    const uint64_t packets = packets_.fetch_add(1, std::memory_order_relaxed);
    const uint64_t before = bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (packets >= limits_.hard_packets || before >= limits_.hard_bytes) {  // another thread has had the last one
      packets_.fetch_sub(1, std::memory_order_relaxed);
      bytes_.fetch_sub(bytes, std::memory_order_relaxed);
      return false;
    }
    raise(packets + 1, before + bytes);
    return true;
  }

  State state() const { return state_.load(std::memory_order_relaxed); }
  /** Whether the state has risen since the last call. */
  bool has_news() {
    const State now = state();
    return announced_.exchange(now) < now;
  }
  /** Counts on from `old`, and says what that has not said yet. No other thread uses either. */
  void take_over(Lifetime& old) {
    packets_ = std::max(packets(), old.packets()), bytes_ = std::max(bytes(), old.bytes());
    announced_ = old.announced_.exchange(old.state());
    raise(packets(), bytes());
    if (announced_ < state()) ++news_;
  }
  uint64_t packets() const { return packets_.load(std::memory_order_relaxed); }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  void raise(uint64_t packets, uint64_t bytes) {
    const State to = packets >= limits_.hard_packets || bytes >= limits_.hard_bytes   ? State::hard
                     : packets >= limits_.soft_packets || bytes >= limits_.soft_bytes ? State::soft
                                                                                      : State::fresh;
    State now = state();
    while (now < to)
      if (state_.compare_exchange_weak(now, to, std::memory_order_relaxed)) {
        news_.fetch_add(1, std::memory_order_release);
        return;
      }
  }

  Limits limits_;
  std::atomic<uint64_t> packets_, bytes_;
  std::atomic<State> state_{State::fresh}, announced_{State::fresh};
  std::atomic<uint64_t>& news_;
};

}  // namespace heddle::ipsec
