#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <string>

#include "core/error.h"

namespace heddle::bench {

/** FNV-1a, to pin what a seed gives. */
inline uint64_t checksum(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return hash;
}

/** A file that lives as long as the object. */
struct Temporary {
  explicit Temporary(const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
  ~Temporary() { std::remove(path.c_str()); }
  std::string path = testing::TempDir() + "heddle_" + testing::UnitTest::GetInstance()->current_test_info()->name();
};

/** What the Error says; "" if there is none. */
inline std::string error_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline std::string gunzip(const std::string& path) {
  std::string text;
  gzFile file = gzopen(path.c_str(), "rb");
  char buffer[1 << 16];
  for (int got; file != nullptr && (got = gzread(file, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  gzclose(file);
  return text;
}

}  // namespace heddle::bench
