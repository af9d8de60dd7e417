#pragma once

#include <vector>

#include "functions/classifier/field.h"

namespace heddle::classifier {

/** Conditions that hold together, and alternatives of which one is enough: what one match of a foreign rule asks
 *  for. */
using Alternative = std::vector<Condition>;
using Term = std::vector<Alternative>;

constexpr size_t kMaxAlternatives = size_t{1} << 16;  ///< rules that a line may become, if one set has no more values
constexpr size_t kMaxSteps = size_t{1} << 21;         ///< conditions that are looked at for that
[[noreturn]] void refuse_as_too_many();               ///< Throws Error.
/** The fragment offset of IPv4 is 0: RFC 791, 3.1. */
constexpr Condition kFirstFragment{{Place::network, 2, 6}, 0x1fff, 0, 0};
constexpr Condition kIsIp4{kIpVersion, 255, 4, 4}, kIsIp6{kIpVersion, 255, 6, 6};

/** All but a range. */
constexpr Condition range_of(const Place& place, uint32_t low, uint32_t high) {
  return {place, place.largest(), low, high};
}

/** Has conditions on ports look at the bytes where they would be, whatever protocol has them. */
void bytes_for_ports(Alternative& conditions);

/** Terms that hold together just if the term does not. A version that the term asks for is still asked for. */
std::vector<Term> negation(const Term& term);

/** What the matches of a foreign rule ask for, collected one by one. */
struct Matches {
  std::vector<Term> terms;
  int family = 0;            ///< 4 or 6 if the rule is of one only
  bool transport = false;    ///< asks for something behind the IP header, which later fragments do not have
  bool by_protocol = false;  ///< asks for the protocol or its header, which the kernel finds behind extension headers

  void add(const Term& term, bool negate = false);
  void add(const Condition& condition, bool negate = false) { add(Term{{condition}}, negate); }
  /** Unless a term asks for protocols that all have ports: see bytes_for_ports(). */
  void look_at_bytes_where_no_ports_are();
  /** As Heddle's rules, with the action `next`. What later fragments have behind the IP header counts as 0, and where 0
   *  would do they are kept out. Empty if nothing can match. Throws Error: more than kMaxAlternatives or the
   *  values of one set, or conditions, or more of them, than a rule can hold. */
  std::vector<Rule> rules(uint16_t next) const;
  /** The same of those packets that `within` matches. `steps` counts on, up to kMaxSteps. */
  std::vector<Rule> rules(uint16_t next, const std::vector<Rule>& within, size_t& steps) const;
};

/** The packets that `packets` match and `taken` do not. Throws Error: they would be more than kMaxAlternatives. */
std::vector<Rule> without(const std::vector<Rule>& packets, const std::vector<Rule>& taken);

}  // namespace heddle::classifier
