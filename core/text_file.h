#pragma once

#include <string>

namespace heddle {

/** The text of a file of at most 1 GiB. Throws Error, which calls it a `kind` ("route file"), if it cannot be read, holds zero
 *  bytes, or does not end. */
std::string read_text_file(const std::string& path, const char* kind);

}  // namespace heddle
