#pragma once

#include <string>
#include <string_view>

namespace heddle {

/** Writes a file whole or not at all, so that what was there before stays if it cannot be written; "-" is standard
 *  output. What is no regular file (a pipe, a device), or lies in a folder that takes no new file, is written in place.
 *  `secret`: nobody else can read it (mode 0600). Throws Error. */
void write_output(const std::string& path, std::string_view text, bool secret = false);

}  // namespace heddle
