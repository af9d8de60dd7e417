#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "engine/engine.h"

namespace heddle {

/** Writes a line over the last one, cut to the width of the terminal that standard error is: what wraps is not
 *  cleared. */
void show_line(const std::string& line);

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
