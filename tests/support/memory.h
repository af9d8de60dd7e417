#pragma once

#include <cstddef>
#include <fstream>
#include <string>

namespace heddle::test {

/** Memory that this process has written: without the system's page of zeros (proc(5), smaps, whose numbers are
 *  exact). */
inline size_t written_bytes() {
  std::ifstream file("/proc/self/smaps_rollup");
  size_t kilobytes = 0;
  for (std::string word; file >> word;)
    if (word == "Anonymous:") file >> kilobytes;
  return kilobytes * 1024;
}

}  // namespace heddle::test
