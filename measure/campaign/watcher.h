#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace heddle::bench {

/** Calls `look` ten times a second, on a thread of its own, while it lives. */
class Watcher {
 public:
  explicit Watcher(std::function<void()> look) : look_(std::move(look)), thread_(&Watcher::serve, this) {}
  ~Watcher() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, std::chrono::milliseconds(100), [this] { return ending_; })) look_();
  }
  std::function<void()> look_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace heddle::bench
