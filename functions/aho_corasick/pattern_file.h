#pragma once

#include <string>
#include <vector>

#include "functions/aho_corasick/rule.h"

namespace heddle::aho_corasick {

constexpr int kAnyPort = -1;

/** A line of a file of patterns: PROTOCOL PORT PATTERN. */
struct PatternLine {
  Protocol protocol = Protocol::ip;  ///< ip: all of them
  int port = kAnyPort;
  std::string bytes;  ///< of the pattern
  std::string text;   ///< the line
};

/** Reads a file of patterns. `errors` gets "FILE:LINE: WHY" for lines that are wrong. Throws Error when it cannot be
 *  read or is no text. */
std::vector<PatternLine> read_pattern_file(const std::string& path, std::vector<std::string>& errors);

}  // namespace heddle::aho_corasick
