#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "tests/support/harness.h"

namespace heddle::test {

/** What comes to sinks s0, s1, ... s9 while frames come without an end, and handlers change what they meet. */
class Arrivals {
 public:
  /** Of run(); this outlives it. */
  Options options() {
    Options options;
    options.endless = true;
    options.on_packet = [this](const std::string& sink, const Received&) { ++at_[sink[1] - '0']; };
    return options;
  }
  uint64_t at(size_t sink) const { return at_[sink]; }  ///< packets, so far
  /** Until another 64 packets have come there. */
  void wait_for(size_t sink) const {
    const uint64_t start = at(sink);
    wait_while([&] { return at(sink) - start < 64; });
  }

 private:
  std::array<std::atomic<uint64_t>, 10> at_{};
};

}  // namespace heddle::test
