#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "functions/classifier/field.h"

namespace heddle::classifier {

/** Reads what rules are asked about: SOURCE DESTINATION SOURCE_PORT DESTINATION_PORT PROTOCOL [FIELD=VALUE ...], where
 *  PROTOCOL is a number or a name such as tcp.
 *  Returns a Key and the values of the layout's places; those that are not given are 0, and fields that are not in the
 *  layout do not count. Throws Error. */
std::vector<uint32_t> parse_key(std::string_view text, const Layout& layout);

/** The other way round. */
std::string text_of_key(const std::vector<uint32_t>& values, const Layout& layout);

/** Whether the rule matches such values, and if not, why: "destination port 80 is not 22 to 23". */
bool matches(const Rule& rule, const std::vector<uint32_t>& values, const Layout& layout);
std::string why_not(const Rule& rule, const std::vector<uint32_t>& values, const Layout& layout);

}  // namespace heddle::classifier
