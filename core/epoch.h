#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "core/counters.h"

namespace heddle {

/** Tells a writer when no reader can hold the version before its change any more (quiescent-state-based reclamation). A
 * reader is a packet thread together with all its packets in flight on a GPU: it reports an epoch only when every batch
 * that it had begun before that epoch has come back. (`rte_rcu_qsbr` reports for the running thread alone, always the
 * newest token, and cannot say "quiescent up to the token of then".) Other threads read within a Reader. */
class Epochs {
 public:
  Epochs() {
    for (Seen& reader : readers_) reader.epoch.store(kFree, std::memory_order_relaxed);
  }

  uint64_t current() const { return current_.load(std::memory_order_acquire); }

  /** Reader: everything begun before `epoch` is done. */
  void report(int thread, uint64_t epoch) {
    seen_[static_cast<size_t>(thread)].epoch.store(epoch, std::memory_order_release);
  }

  /** A thread that is no packet thread reads while this lives: handlers, reports. Waits for a place if kMaxReaders
   *  others read. */
  class Reader {
   public:
    explicit Reader(Epochs& epochs) : place_(epochs.take_place()) {}
    ~Reader() { place_->store(kFree, std::memory_order_release); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

   private:
    std::atomic<uint64_t>* place_;
  };
  static constexpr int kMaxReaders = 16;

  /** Writer: starts a new epoch after a change and waits until all of the first `threads` packet threads have reported
   *  it, or `stopped` says that they have ended, and until every Reader of an epoch before has ended. The caller is
   *  none. */
  template <class Stopped>
  void wait_for_readers(int threads, const Stopped& stopped) {
    const uint64_t target = current_.fetch_add(1, std::memory_order_seq_cst) + 1;
    for (int thread = 0; thread < threads; ++thread)
      while (seen_[static_cast<size_t>(thread)].epoch.load(std::memory_order_acquire) < target && !stopped())
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    for (Seen& reader : readers_)
      while (reader.epoch.load(std::memory_order_seq_cst) < target)
        std::this_thread::sleep_for(std::chrono::microseconds(20));
  }

 private:
  static constexpr uint64_t kFree = ~uint64_t{0};

  std::atomic<uint64_t>* take_place() {
    for (;; std::this_thread::yield())
      for (Seen& reader : readers_) {
        uint64_t free = kFree;
        // Before the first read: a writer that does not see this has made its change before, and it will be read.
        if (!reader.epoch.compare_exchange_strong(free, current_.load(std::memory_order_seq_cst),
                                                  std::memory_order_seq_cst))
          continue;
        std::atomic_thread_fence(std::memory_order_seq_cst);
        return &reader.epoch;
      }
  }

  struct alignas(64) Seen {
    std::atomic<uint64_t> epoch{0};
  };
  std::atomic<uint64_t> current_{0};
  std::array<Seen, kMaxThreads> seen_;
  std::array<Seen, kMaxReaders> readers_;
};

}  // namespace heddle
