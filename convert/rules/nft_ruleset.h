#pragma once

#include <optional>
#include <string>
#include <vector>

#include "convert/rules/nft_words.h"

namespace heddle::classifier::nft {

struct Chain {
  std::string family, name;  ///< of the table; "TABLE CHAIN"
  std::optional<uint16_t> policy;
  std::string hook;
  std::vector<std::vector<Word>> rules;
};

/** The chains of a ruleset, whose rules are not looked at. What is no part of one is a mistake. */
std::vector<Chain> chains_of_ruleset(const std::vector<Word>& words, Mistakes& mistakes);

}  // namespace heddle::classifier::nft
