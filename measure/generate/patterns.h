#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::bench {

/** What an intrusion detection system looks for in payloads. */
struct Pattern {
  std::string bytes;
  bool nocase = false;  ///< letters match in either case; `bytes` has small ones
  bool operator==(const Pattern&) const = default;
};

/** `count` different patterns in random order; the same for the same seed. Statistics are those of the 30,539
 *  `content`s of at least 4 bytes in five files of Emerging Threats' open rules (attack_response, dos, exploit, ftp,
 *  web_server):
 *
 *  - lengths: that set's, 17.7 bytes on average, 61 % below 17;
 *  - 89 % printable text, 2 % without any printable byte, 8 % mixed; among those shorter than 8 bytes 80, 10 and 10 %;
 *    bytes outside text are 00 in 29 %, LF 9 %, CR 8 %;
 *  - 41 % nocase;
 *  - shared beginnings: each begins as an earlier one does, for as many bytes as neighbours in that sorted set have in
 *    common (5.2 on average, 1 % 24 and more), which decides how many states an automaton has. */
std::vector<Pattern> generate_patterns(size_t count, uint64_t seed);

/** `content:"GET |2F|a"; nocase;` and a line end: Snort's content option. Bytes that are not printable, and those that
 *  mean something to Snort ("  ;  :  \  |), are in hex. */
std::string to_text(const std::vector<Pattern>& patterns);
/** A rule a line in Snort's syntax for each: an alert at any IP packet that has the pattern, with sids from 1000001
 *  on. */
std::string to_rules(const std::vector<Pattern>& patterns);
/** Reads lines as of to_text(). Throws Error "NAME:LINE: WHAT". */
std::vector<Pattern> parse_patterns(const std::string& name, std::string_view text);

}  // namespace heddle::bench
