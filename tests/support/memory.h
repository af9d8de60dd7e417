#pragma once

#include <cstddef>
#include <fstream>
#include <string>

namespace heddle::test {

/** AddressSanitizer gives memory out that has been written. */
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kMemoryIsWritten = true;
#elif defined(__has_feature)
constexpr bool kMemoryIsWritten = __has_feature(address_sanitizer);
#else
constexpr bool kMemoryIsWritten = false;
#endif

/** Memory that this process has written: without the system's page of zeros (proc(5), smaps, whose numbers are exact). */
inline size_t written_bytes() {
  std::ifstream file("/proc/self/smaps_rollup");
  size_t kilobytes = 0;
  for (std::string word; file >> word;)
    if (word == "Anonymous:") file >> kilobytes;
  return kilobytes * 1024;
}

}  // namespace heddle::test
