#pragma once

#include <chrono>
#include <cstdint>

#include "engine/engine.h"

namespace heddle {

/** How a run goes: one line on a terminal, written over and over. */
class Progress {
 public:
  explicit Progress(bool shown) : shown_(shown) {}
  ~Progress() { clear(); }
  void update(const Engine& engine);
  void clear() const;

 private:
  using Clock = std::chrono::steady_clock;

  bool shown_;
  Clock::time_point start_ = Clock::now(), last_ = start_;
  uint64_t packets_ = 0, bytes_ = 0;  // at the last update
};

}  // namespace heddle
