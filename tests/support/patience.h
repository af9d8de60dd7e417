#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

namespace heddle::test {

/** For loops that wait for others to get on, however slow the machine is: ends when they have stood still for two
 *  minutes. Meanwhile it gives way: on few cores, who waits keeps those that it waits for from running. */
class Patience {
 public:
  /** `progress`: a number that changes as long as they get on. */
  bool is_over(uint64_t progress) {
    const auto now = std::chrono::steady_clock::now();
    if (progress != progress_)
      progress_ = progress, since_ = now;
    else
      std::this_thread::yield();
    return now - since_ > std::chrono::minutes(2);
  }

 private:
  uint64_t progress_ = 0;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

}  // namespace heddle::test
