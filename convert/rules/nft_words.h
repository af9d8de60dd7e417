#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/mistakes.h"

namespace heddle::classifier::nft {

struct Word {
  std::string text;
  size_t line = 0;
  bool quoted = false;
  /** Whether it is this sign or keyword, which a text in quotes never is. */
  bool is(std::string_view wanted) const { return !quoted && text == wanted; }
};

/** The words of a ruleset; ends of lines are words "\n", but for those in the braces of a set within a rule. Throws
 *  Error when there are more than 33,554,432. */
std::vector<Word> words_of_ruleset(std::string_view text, Mistakes& mistakes);
/** The words with blanks between them. */
std::string text_of_words(const std::vector<Word>& words);

}  // namespace heddle::classifier::nft
