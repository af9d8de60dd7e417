#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "convert/rules/terms.h"

namespace heddle::classifier {

// Values as iptables and nft write them. All throw Error when the text is none.

/** A number or the name of /etc/protocols, which is read once; what "icmpv6" and "ipv6-icmp" mean does not depend on
 *  that file. */
uint32_t protocol_of_word(std::string_view text);
/** A number or the name of /etc/services, which is read once. */
uint32_t port_of_word(std::string_view text);
/** "syn", "ack", ..., in capitals as well; ALL and NONE. */
uint32_t tcp_flags_of_words(std::string_view comma_separated, char separator = ',');
/** ADDRESS, ADDRESS/LENGTH, ADDRESS/MASK or LOW-HIGH, of IPv4 or IPv6 as `family`, 4 or 6, says. */
Term addresses_of_word(std::string_view text, Field field, int family);
/** The parts between separators, at least one. */
std::vector<std::string_view> split_at(std::string_view text, char separator);

}  // namespace heddle::classifier
