#pragma once

#include <string>
#include <vector>

#include "convert/rules/chains.h"
#include "convert/rules/nft_ruleset.h"

namespace heddle::classifier::nft {

/** What one rule of a chain says, in a table of the family ip, ip6 or inet with these sets; `to` is the chain's name
 *  without its table's. Throws Error: what is wrong or not supported. */
ChainLine read_statement(const std::vector<Word>& words, const std::string& family, const Sets& sets);

}  // namespace heddle::classifier::nft
