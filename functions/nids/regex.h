#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;

namespace heddle::nids {

struct FreeRegex {
  void operator()(pcre2_real_code_8* code) const;
  void operator()(pcre2_real_match_data_8* match) const;
};

/** What a thread needs to search for regular expressions. */
class RegexWorkspace {
 public:
  RegexWorkspace();

 private:
  friend class Regex;
  std::unique_ptr<pcre2_real_match_data_8, FreeRegex> match_;
};

/** A Perl regular expression over bytes, by PCRE2 (pcre2pattern(3)). How much it may go back is limited as Suricata
 *  limits it, so the time of a search is, too, whatever the pattern and the text are. Any number of threads may
 *  search. */
class Regex {
 public:
  /** `options`: letters of i s m x (as Perl's), A (matches at the start only), E ($ at the very end only), G (repeats
   *  take as little as they can). Throws Error that says what is wrong. */
  Regex(std::string_view pattern, std::string_view options);

  enum class Outcome : uint8_t { none, found, gave_up };
  struct Match {
    uint32_t begin = 0, end = 0;
  };
  /** The first match that begins at `from` or behind it. `gave_up`: the limit is reached, or there is no memory.
   *  `continued`: the text has begun before, so ^ and the option A do not match at its first byte. */
  Outcome find(std::span<const uint8_t> text, uint32_t from, bool continued, Match& match,
               RegexWorkspace& workspace) const;

  /** What of `letters` are no options. */
  static std::string unknown(std::string_view letters);

 private:
  std::unique_ptr<pcre2_real_code_8, FreeRegex> code_;
  bool anchored_;
};

}  // namespace heddle::nids
