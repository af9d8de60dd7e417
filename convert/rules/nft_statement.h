#pragma once

#include <optional>
#include <string>
#include <vector>

#include "convert/rules/nft_words.h"
#include "functions/classifier/rule.h"

namespace heddle::classifier::nft {

/** The rules that one rule of a chain is, in a table of the family ip, ip6 or inet; nothing if it has no verdict, no
 *  rule if no packet can match. Throws Error: what is wrong or not supported. */
std::optional<std::vector<Rule>> rules_of_statement(const std::vector<Word>& words, const std::string& family);

}  // namespace heddle::classifier::nft
