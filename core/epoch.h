#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "core/counters.h"

namespace heddle {

/** Tells a writer when no reader can hold the version before its change any more (quiescent-state-based reclamation). A
 * reader is a packet thread together with all its slots in flight on a GPU: it reports an epoch only when every batch
 * that it had begun before that epoch has come back. (`rte_rcu_qsbr` reports for the running thread alone, always the
 * newest token, and cannot say "quiescent up to the token of then".) */
class Epochs {
 public:
  uint64_t current() const { return current_.load(std::memory_order_acquire); }

  /** Reader: everything begun before `epoch` is done. */
  void report(int thread, uint64_t epoch) {
    seen_[static_cast<size_t>(thread)].epoch.store(epoch, std::memory_order_release);
  }

  /** Writer: starts a new epoch after a change and waits until all of the first `threads` readers have reported it, or
   *  `stopped` says that they have ended. */
  template <class Stopped>
  void wait_for_readers(int threads, const Stopped& stopped) {
    const uint64_t target = current_.fetch_add(1, std::memory_order_acq_rel) + 1;
    for (int thread = 0; thread < threads; ++thread)
      while (seen_[static_cast<size_t>(thread)].epoch.load(std::memory_order_acquire) < target && !stopped())
        std::this_thread::sleep_for(std::chrono::microseconds(20));
  }

 private:
  struct alignas(64) Seen {
    std::atomic<uint64_t> epoch{0};
  };
  std::atomic<uint64_t> current_{0};
  std::array<Seen, kMaxThreads> seen_;
};

}  // namespace heddle
