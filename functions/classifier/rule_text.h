#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "functions/classifier/rule.h"

namespace heddle::classifier {

/** What rules may ask for. */
struct Actions {
  /** Rule::next of a word; nothing if it is none. */
  std::function<std::optional<uint16_t>(std::string_view word)> read;
  std::string expected;             ///< the words that there are, for messages
  std::optional<uint16_t> usual{};  ///< of a rule without a word; if there is none, it needs one
};

/** Reads one filter of ClassBench, whose words are separated by blanks, with what Heddle has added:
 *      @SOURCE DESTINATION LOW : HIGH LOW : HIGH PROTOCOL [FLAGS/MASK] [FIELD=VALUE ...] [ACTION]
 *  ClassBench's addresses are ADDRESS/LENGTH, bits after the length being ignored; here also LOW-HIGH, and prefixes and
 *  LOW-HIGH of IPv6. Its protocol is VALUE/MASK with the mask 0x00 (any) or 0xFF; here also LOW-HIGH. Its TCP flags are
 *  checked to be two hexadecimal numbers and otherwise ignored. FIELD is one of kPlaceNames, VALUE is VALUE, LOW-HIGH
 *  or VALUE/MASK. Returns what is wrong, as the end of "'TEXT' is not a rule: ", or "" when `rule` holds it. */
std::string parse_rule(std::string_view text, const Actions& actions, Rule& rule);

/** That of a rule in which nothing is wrong but that it has no action. */
std::string no_action(const Actions& actions);

/** The rule as text that parse_rule() reads; `action`: the word for it, or "". */
std::string text_of(const Rule& rule, std::string_view action);

// Parts of rules, for other formats as well. They return what is wrong, or "".

/** 0 to `most`, written decimal or, with 0x, hexadecimal. */
bool parse_number(std::string_view text, uint32_t most, uint32_t& number);
/** The number of tcp, udp, icmp, icmpv6, sctp and some more, which depends on no file; nothing if it is none. */
std::optional<uint32_t> protocol_named(std::string_view text);
/** "192.0.2.1", of an address in host byte order. */
std::string dotted(uint32_t address);
/** An address of IPv6 as inet_pton reads it, with or without "/LENGTH": conditions on all its words and the version. */
std::optional<std::vector<Condition>> parse_prefix6(std::string_view text, Field field);
std::vector<Condition> prefix6(const uint8_t (&address)[16], int length, Field field);

}  // namespace heddle::classifier
