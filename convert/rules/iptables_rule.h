#pragma once

#include <optional>
#include <string>
#include <vector>

#include "functions/classifier/rule.h"

namespace heddle::classifier {

/** The rules that the words of a line "-A CHAIN ..." are, of IPv4 or IPv6 as `family`, 4 or 6, says; nothing if it has
 *  no verdict, no rule if no packet can match. Throws Error: what is wrong, also all that iptables refuses, or not
 *  supported. */
std::optional<std::vector<Rule>> iptables_rule(const std::vector<std::string>& words, int family);

}  // namespace heddle::classifier
