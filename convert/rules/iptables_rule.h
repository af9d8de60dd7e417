#pragma once

#include <functional>
#include <string>
#include <vector>

#include "convert/rules/chains.h"

namespace heddle::classifier {

/** Where the words of a line "-A CHAIN ..." send packets: what stands behind -j or -g, or "". */
std::string target_of(const std::vector<std::string>& words);

/** What the words of a line "-A CHAIN ..." say, of IPv4 or IPv6 as `family`, 4 or 6, says. `is_chain` tells the chains
 *  that may be jumped to. Throws Error: what is wrong, also all that iptables refuses, or not supported. */
ChainLine iptables_rule(const std::vector<std::string>& words, int family,
                        const std::function<bool(const std::string&)>& is_chain);

}  // namespace heddle::classifier
