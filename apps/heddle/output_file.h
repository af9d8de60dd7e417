#pragma once

#include <string>
#include <string_view>

namespace heddle {

/** Writes a file whole or not at all, so that what was there before stays if it cannot be written; "-" is standard
 *  output, and what is no regular file (a pipe, a device) is written as it is. `secret`: nobody else can read it (mode
 *  0600). Throws Error. */
void write_output(const std::string& path, std::string_view text, bool secret = false);

}  // namespace heddle
