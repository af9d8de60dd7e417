#pragma once

#include <atomic>
#include <cstdio>
#include <string>

namespace heddle {

/** Whether warn() prints; `--no-warnings` and `--quiet` say no. */
inline std::atomic<bool> warnings_wanted{true};

/** Prints the text, and an end of line if it has none, to standard error, unless warnings are not wanted. */
inline void warn(const std::string& text) {
  if (warnings_wanted.load(std::memory_order_relaxed))
    std::fputs((text.ends_with('\n') ? text : text + "\n").c_str(), stderr);
}

}  // namespace heddle
