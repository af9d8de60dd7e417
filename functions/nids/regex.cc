#include "functions/nids/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <iterator>

#include "core/error.h"

namespace heddle::nids {
namespace {

constexpr uint32_t kMaxSteps = 3500;      // from one place of the text; Suricata's default (match-limit)
constexpr uint32_t kMaxMemory = 1024;     // KiB
constexpr size_t kLongestPattern = 8192;  // bytes

struct Letter {
  char letter;
  uint32_t option;
};
constexpr Letter kLetters[] = {{'i', PCRE2_CASELESS}, {'s', PCRE2_DOTALL},   {'m', PCRE2_MULTILINE},
                               {'x', PCRE2_EXTENDED}, {'A', PCRE2_ANCHORED}, {'E', PCRE2_DOLLAR_ENDONLY},
                               {'G', PCRE2_UNGREEDY}};

pcre2_match_context* limits() {
  static pcre2_match_context* const context = [] {
    pcre2_match_context* made = pcre2_match_context_create(nullptr);
    if (made == nullptr) throw Error("PCRE2 has no memory");
    pcre2_set_match_limit(made, kMaxSteps);
    pcre2_set_heap_limit(made, kMaxMemory);
    return made;
  }();
  return context;
}

}  // namespace

void FreeRegex::operator()(pcre2_code* code) const { pcre2_code_free(code); }
void FreeRegex::operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }

RegexWorkspace::RegexWorkspace() : match_(pcre2_match_data_create(1, nullptr)) {
  if (match_ == nullptr) throw Error("PCRE2 has no memory");
}

std::string Regex::unknown(std::string_view letters) {
  std::string rest(letters);
  std::erase_if(rest, [](char c) { return std::ranges::find(kLetters, c, &Letter::letter) != std::end(kLetters); });
  return rest;
}

Regex::Regex(std::string_view pattern, std::string_view options) : anchored_(options.find('A') != options.npos) {
  if (pattern.size() > kLongestPattern) throw Error(format("has more than %zu bytes", kLongestPattern));
  uint32_t bits = PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | PCRE2_NEVER_BACKSLASH_C;
  for (const Letter& letter : kLetters)
    if (options.find(letter.letter) != options.npos) bits |= letter.option;
  int error = 0;
  PCRE2_SIZE at = 0;
  code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), bits, &error, &at, nullptr));
  if (code_ == nullptr) {
    PCRE2_UCHAR text[256];
    pcre2_get_error_message(error, text, sizeof text);
    throw Error(format("is wrong at byte %zu: %s", at, reinterpret_cast<const char*>(text)));
  }
  pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);  // where it cannot, patterns are interpreted
  limits();
}

Regex::Outcome Regex::find(std::span<const uint8_t> text, uint32_t from, bool continued, Match& match,
                           RegexWorkspace& workspace) const {
  if (anchored_ && (continued || from > 0)) return Outcome::none;
  static constexpr uint8_t kNothing = 0;  // PCRE2 wants an address also of no bytes
  const uint8_t* bytes = text.empty() ? &kNothing : text.data();
  const int result = pcre2_match(code_.get(), bytes, text.size(), from, continued ? PCRE2_NOTBOL : 0,
                                 workspace.match_.get(), limits());
  if (result == PCRE2_ERROR_NOMATCH) return Outcome::none;
  if (result < 0) return Outcome::gave_up;
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(workspace.match_.get());
  // \K in a look-ahead may say that a match begins behind its end.
  match = {static_cast<uint32_t>(std::min(ends[0], ends[1])), static_cast<uint32_t>(ends[1])};
  return Outcome::found;
}

}  // namespace heddle::nids
