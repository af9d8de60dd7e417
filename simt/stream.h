#pragma once

/** Streams and events: a stream is an OS thread that runs its operations in order. */

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace heddle::simt {

using Clock = std::chrono::steady_clock;

class Stream {
 public:
  explicit Stream(bool is_blocking) : blocking(is_blocking) {}

  /** Starts the OS thread, which keeps the stream alive until it is closed and empty. */
  static std::shared_ptr<Stream> start(bool blocking);

  void add(std::function<void()> operation);
  void close();
  /** The number of operations so far: wait_for(added()) waits for all of them. */
  uint64_t added();
  bool ended(uint64_t count);
  bool empty();  ///< all operations have ended
  void wait_for(uint64_t count);
  /** Returns false if the time came first. */
  bool wait_for(uint64_t count, Clock::time_point deadline);

  int device = 0;       ///< That was current when it was made.
  const bool blocking;  ///< Whether the null stream and this one wait for each other.

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> operations_;
  uint64_t added_ = 0, ended_ = 0;
  bool closed_ = false;
};

class Event {
 public:
  explicit Event(bool is_timed) : timed(is_timed) {}

  /** Announces one more recording, which complete(its number) ends on the stream. */
  uint64_t announce();
  void complete(uint64_t recording);
  uint64_t announced();
  bool completed(uint64_t recording);
  void wait_for(uint64_t recording);
  Clock::time_point time();

  const bool timed;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t announced_ = 0, completed_ = 0;
  Clock::time_point time_;
};

}  // namespace heddle::simt
