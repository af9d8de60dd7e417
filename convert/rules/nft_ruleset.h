#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "convert/rules/nft_words.h"

namespace heddle::classifier::nft {

/** A named set. */
struct Set {
  std::vector<std::string> values;
  std::string why_not;  ///< what it has that has no equal here, for people; "": nothing
};
using Sets = std::map<std::string, Set, std::less<>>;

struct Chain {
  std::string family, name;  ///< of the table; "TABLE CHAIN"
  std::string full_name() const { return family + " " + name; }
  std::string table() const { return family + " " + name.substr(0, name.find(' ')); }
  std::optional<uint16_t> policy;
  size_t policy_line = 0;
  std::string hook;
  std::vector<std::vector<Word>> rules;
};

struct Ruleset {
  std::vector<Chain> chains;
  std::map<std::string, Sets> sets;  ///< by Chain::table()
};

/** What a ruleset consists of; rules are not looked at. What is no part of one is a mistake. */
Ruleset read_ruleset(const std::vector<Word>& words, Mistakes& mistakes);

}  // namespace heddle::classifier::nft
