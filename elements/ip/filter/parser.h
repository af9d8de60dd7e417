#pragma once

#include <string_view>

#include "click/address_book.h"
#include "elements/ip/filter/expression.h"

namespace heddle::ip_filter {

/** A word of a pattern and where it begins, in bytes from 0. */
struct Word {
  size_t at = 0;
  std::string_view text{};
};

/** The words of a pattern, with signs such as &&, != and ( as words of their own. */
std::vector<Word> split(std::string_view text);

/** Reads a pattern from words[first] on; `names`: those of addresses and ports that it may use. Throws Mistake.
 *
 *      expression := or [? expression : expression]
 *      or         := and {("or" | "||") and}
 *      and        := factor {["and" | "&&"] factor}
 *      factor     := ("not" | "!") factor | "(" expression ")" | "true" | "false" | directive
 *      directive  := {qualifier} ["[" POS [":" LEN] "]"] ["&" MASK] [relation] [value]
 *
 *  "-", "any" and "all", as the whole pattern, and no word at all match every packet. */
Expression parse(const std::vector<Word>& words, size_t first, size_t end_of_text,
                 const click::AddressNames& names = {});

}  // namespace heddle::ip_filter
