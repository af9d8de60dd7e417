#pragma once

#include <string>
#include <string_view>
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

/** The patterns of a text. `errors` gets "NAME:LINE: WHY" for the first 100 lines that are wrong, and for one the
 *  number of the others. */
std::vector<PatternLine> parse_patterns(const std::string& name, std::string_view text,
                                        std::vector<std::string>& errors);

/** The same of a file. Throws Error when it cannot be read or is no text. */
std::vector<PatternLine> read_pattern_file(const std::string& path, std::vector<std::string>& errors);

}  // namespace heddle::aho_corasick
