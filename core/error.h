#pragma once

#include <cstdarg>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace heddle {

/** A mistake or a missing thing that stops the program before packets flow: says what is wrong and what would be right.
 *  Thrown by configuration, start-up and file opening; never on the packet path. */
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/** printf into a string. */
[[gnu::format(printf, 1, 2)]] inline std::string format(const char* text, ...) {
  va_list arguments, again;
  va_start(arguments, text);
  va_copy(again, arguments);
  std::string result(static_cast<size_t>(std::vsnprintf(nullptr, 0, text, arguments)), '\0');
  std::vsnprintf(result.data(), result.size() + 1, text, again);
  va_end(again);
  va_end(arguments);
  return result;
}

}  // namespace heddle
