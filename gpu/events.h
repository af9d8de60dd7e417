#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace heddle::gpu {

/** The last `kSize` events that kernels tell the host: a part of a function's State (gpu/registry.cuh), zero at first.
 *  A kernel never waits: it writes over the oldest event, and the reader counts what it has lost by that. Each 32-bit
 *  word of an event lies with the low half of the event's number, so that whoever reads while it is written sees it. */
template <class T, uint32_t kSize>
struct EventRing {
  static_assert(std::is_trivially_copyable_v<T> && kSize > 0);
  using Event = T;
  static constexpr uint32_t kEvents = kSize;
  static constexpr uint32_t kWords = (sizeof(T) + sizeof(uint32_t) - 1) / sizeof(uint32_t);

  unsigned long long pushed;               ///< events so far; the next one's number
  unsigned long long word[kSize][kWords];  ///< high half: stamp_of(number), low half: of the event

  /** Of no event at first, nor of its neighbours in the same place. */
  static constexpr uint32_t stamp_of(uint64_t number) { return static_cast<uint32_t>(number + 1); }
};

/** The host's end of a ring; one thread at a time. */
template <class Ring>
class EventReader {
 public:
  /** Calls `visit(event)` for events that are there and have not been visited, in the order of their numbers.
   *  `read(offset, to)` copies a part of the ring as of now, words of 8 bytes whole; false: it cannot, and nothing more
   *  is visited. `last`: no kernel runs any more. */
  template <class Read, class Visit>
  void poll(const Read& read, const Visit& visit, bool last = false) {
    uint64_t pushed = 0;
    if (!read(offsetof(Ring, pushed), std::as_writable_bytes(std::span(&pushed, 1)))) return;
    if (pushed - next_ > Ring::kEvents) skip_to(pushed - Ring::kEvents);
    while (next_ < pushed) {
      const uint64_t first = next_ % Ring::kEvents;
      const uint64_t count = std::min(pushed - next_, Ring::kEvents - first);  // up to where the ring begins anew
      words_.resize(count * Ring::kWords);
      const size_t at = offsetof(Ring, word) + first * sizeof(uint64_t[Ring::kWords]);
      if (!read(at, std::as_writable_bytes(std::span(words_)))) return;
      for (uint64_t i = 0; i < count; ++i) {
        const State state = take(&words_[i * Ring::kWords]);
        if (state == State::unwritten && !last) return;
        if (state == State::there)
          ++next_, visit(event_);
        else
          skip_to(next_ + 1);
      }
    }
  }

  uint64_t lost() const { return lost_; }  ///< events that nobody has seen

 private:
  enum class State { there, unwritten, overwritten };

  void skip_to(uint64_t number) { lost_ += number - next_, next_ = number; }

  State take(const uint64_t* words) {
    uint32_t event[Ring::kWords];
    for (uint32_t w = 0; w < Ring::kWords; ++w) {
      const auto ahead = static_cast<int32_t>(static_cast<uint32_t>(words[w] >> 32) - Ring::stamp_of(next_));
      if (ahead > 0) return State::overwritten;
      if (ahead < 0) return State::unwritten;
      event[w] = static_cast<uint32_t>(words[w]);
    }
    std::memcpy(&event_, event, sizeof event_);
    return State::there;
  }

  uint64_t next_ = 0, lost_ = 0;
  std::vector<uint64_t> words_;
  typename Ring::Event event_{};
};

}  // namespace heddle::gpu
