#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "core/clock.h"

namespace heddle::ipsec {

/** What an association may do before it is to be replaced (soft) and before it ends (hard); RFC 4301, 4.4.2.1. */
struct Limits {
  static constexpr uint64_t kNone = ~uint64_t{0};
  uint64_t soft_packets = kNone, hard_packets = kNone, soft_bytes = kNone, hard_bytes = kNone;
  /** Seconds since it has been added, and since its first packet. */
  uint64_t soft_seconds = kNone, hard_seconds = kNone, soft_use_seconds = kNone, hard_use_seconds = kNone;
  bool timed() const { return std::min({soft_seconds, hard_seconds, soft_use_seconds, hard_use_seconds}) != kNone; }
  bool any() const { return timed() || std::min({soft_packets, hard_packets, soft_bytes, hard_bytes}) != kNone; }
  bool operator==(const Limits&) const = default;
};

/** What lifetimes have to tell whoever announces it. Any number of threads. */
class LifetimeNews {
 public:
  static constexpr int64_t kNever = INT64_MAX;
  void add() { count_.fetch_add(1, std::memory_order_release); }
  /** Limits that have been reached. */
  uint64_t count() const { return count_.load(std::memory_order_acquire); }
  /** A limit is reached at `ns` of the router's clock, if nobody looks before. */
  void expect(int64_t ns) {
    int64_t due = due_ns_.load();
    while (ns < due && !due_ns_.compare_exchange_weak(due, ns)) {
    }
  }
  /** Whether such a limit has come; those that have not are to be expected again then. */
  bool is_due(RouterClock::time_point now) {
    if (now.time_since_epoch().count() < due_ns_.load(std::memory_order_relaxed)) return false;
    due_ns_ = kNever;
    return true;
  }

 private:
  std::atomic<uint64_t> count_{0};
  std::atomic<int64_t> due_ns_{kNever};
};

/** Which limits have been reached, and which of them have been announced. Any number of threads. */
class Reached {
 public:
  static constexpr unsigned kSoft = 1, kHard = 2;
  /** Whether one of these is new. */
  bool add(unsigned limits) {
    return (limits & ~all()) != 0 && (limits & ~all_.fetch_or(limits, std::memory_order_relaxed)) != 0;
  }
  unsigned all() const { return all_.load(std::memory_order_relaxed); }
  /** Those since the last call. */
  unsigned news() {
    const unsigned now = all();
    return now & ~announced_.fetch_or(now);
  }
  /** Nobody hears again of those of `old`; whether others are left to announce. No other thread uses either. */
  bool heard(Reached& old) {
    announced_ = old.announced_.exchange(old.all());
    return (all() & ~announced_) != 0;
  }

 private:
  std::atomic<unsigned> all_{0}, announced_{0};
};

/** How much of its limits an association has used. Any number of threads, which say what time it is by the router's
 *  clock; without limits in seconds any time will do. */
class Lifetime {
 public:
  using Time = RouterClock::time_point;
  enum class State : uint8_t { fresh, soft, hard };
  struct Used {
    uint64_t packets = 0, bytes = 0;
    Time added{};                  ///< when it was
    Time first_packet = kUnknown;  ///< when that came
  };
  static constexpr Time kUnknown{RouterClock::duration{LifetimeNews::kNever}};

  Lifetime(const Limits& limits, const Used& used, LifetimeNews& news)
      : limits_(limits),
        packets_(used.packets),
        bytes_(used.bytes),
        added_ns_(ns_of(used.added)),
        first_packet_ns_(ns_of(used.first_packet)),
        news_(news) {
    find_ends();
    raise(packets(), bytes());
  }

  /** Whether a hard limit has been reached. */
  bool is_over(Time now) {
    age(now);
    return state() == State::hard;
  }
  /** One more packet; false if a hard limit has been reached before. So bytes end within a packet of theirs. */
  bool take(uint32_t bytes, Time now) {
    if (is_over(now)) return false;
    const uint64_t packets = packets_.fetch_add(1, std::memory_order_relaxed);
    const uint64_t before = bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (packets >= limits_.hard_packets || before >= limits_.hard_bytes) {  // another thread has had the last one
      packets_.fetch_sub(1, std::memory_order_relaxed);
      bytes_.fetch_sub(bytes, std::memory_order_relaxed);
      return false;
    }
    if (limits_.timed() && first_packet_ns_.load(std::memory_order_relaxed) == LifetimeNews::kNever) begin_use(now);
    raise(packets + 1, before + bytes);
    return true;
  }

  /** It is `now`, whether packets come or not. */
  void age(Time now) {
    const int64_t ns = ns_of(now);
    // Once it is over nobody is told to replace it soon.
    const bool soft = state() != State::hard && ns >= soft_ns_.load(std::memory_order_relaxed);
    raise(soft, ns >= hard_ns_.load(std::memory_order_relaxed));
  }
  /** Tells its news when the next of its limits in seconds is reached. */
  void expect_end() {
    if (state() == State::fresh) news_.expect(soft_ns_);
    if (state() != State::hard) news_.expect(hard_ns_);
  }

  State state() const {
    const unsigned reached = reached_.all();
    return reached & Reached::kHard ? State::hard : reached & Reached::kSoft ? State::soft : State::fresh;
  }
  /** Limits of Reached since the last call. */
  unsigned news() { return reached_.news(); }
  /** Counts on from `old`, and says what that has not said yet. No other thread uses either. */
  void take_over(Lifetime& old) {
    packets_ = std::max(packets(), old.packets()), bytes_ = std::max(bytes(), old.bytes());
    added_ns_ = std::min(added_ns_.load(), old.added_ns_.load());
    first_packet_ns_ = std::min(first_packet_ns_.load(), old.first_packet_ns_.load());
    find_ends();
    raise(packets(), bytes());
    if (reached_.heard(old.reached_)) news_.add();
  }
  uint64_t packets() const { return packets_.load(std::memory_order_relaxed); }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  const Limits& limits() const { return limits_; }
  bool timed() const { return limits_.timed(); }
  /** Whole seconds from when it was added, and from its first packet, to `now`; there must have been one. */
  uint64_t seconds(Time now) const { return seconds_between(added_ns_, now); }
  uint64_t use_seconds(Time now) const { return seconds_between(first_packet_ns_, now); }
  bool used() const { return first_packet_ns_.load(std::memory_order_relaxed) != LifetimeNews::kNever; }

 private:
  static int64_t ns_of(Time time) { return time.time_since_epoch().count(); }
  static uint64_t seconds_between(int64_t ns, Time now) {
    return static_cast<uint64_t>(std::max<int64_t>(0, ns_of(now) - ns)) / 1000000000;
  }
  /** When `seconds` from `ns` on are over. */
  static int64_t end_of(int64_t ns, uint64_t seconds) {
    if (seconds == Limits::kNone || ns == LifetimeNews::kNever) return LifetimeNews::kNever;
    return ns + RouterClock::seconds(static_cast<double>(seconds)).count();
  }
  void find_ends() {
    soft_ns_ = std::min(end_of(added_ns_, limits_.soft_seconds), end_of(first_packet_ns_, limits_.soft_use_seconds));
    hard_ns_ = std::min(end_of(added_ns_, limits_.hard_seconds), end_of(first_packet_ns_, limits_.hard_use_seconds));
    expect_end();
  }
  void begin_use(Time now) {
    int64_t never = LifetimeNews::kNever;
    if (first_packet_ns_.compare_exchange_strong(never, ns_of(now))) find_ends();
  }

  void raise(uint64_t packets, uint64_t bytes) {
    raise(packets >= limits_.soft_packets || bytes >= limits_.soft_bytes,
          packets >= limits_.hard_packets || bytes >= limits_.hard_bytes);
  }
  void raise(bool soft, bool hard) {
    if (reached_.add(soft * Reached::kSoft | hard * Reached::kHard)) news_.add();
  }

  Limits limits_;
  std::atomic<uint64_t> packets_, bytes_;
  std::atomic<int64_t> added_ns_, first_packet_ns_;                                     // of the router's clock
  std::atomic<int64_t> soft_ns_{LifetimeNews::kNever}, hard_ns_{LifetimeNews::kNever};  // when limits in seconds come
  Reached reached_;
  LifetimeNews& news_;
};

}  // namespace heddle::ipsec
