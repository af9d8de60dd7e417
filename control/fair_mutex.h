#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace heddle {

/** A recursive mutex that serves threads in the order in which they asked. With std::recursive_mutex a thread that
 *  calls handlers in a loop leaves the others waiting for hundreds of milliseconds. */
class FairMutex {
 public:
  void lock() {
    std::unique_lock state(state_);
    if (owner_ != std::this_thread::get_id()) {
      const uint64_t ticket = next_ticket_++;
      served_.wait(state, [&] { return serving_ == ticket; });
      owner_ = std::this_thread::get_id();
    }
    ++depth_;
  }

  void unlock() {
    const std::lock_guard state(state_);
    if (--depth_ > 0) return;
    owner_ = {};
    ++serving_;
    served_.notify_all();
  }

 private:
  std::mutex state_;
  std::condition_variable served_;
  uint64_t next_ticket_ = 0, serving_ = 0;
  std::thread::id owner_;
  int depth_ = 0;
};

}  // namespace heddle
