#pragma once

#include <string>
#include <vector>

#include "measure/generate/route_profile.h"

namespace heddle::bench {

/** `count` different prefixes, sorted by address, that look like a table with `profile`; the same for the same seed:
 *
 *  - of each length exactly the profile's share, rounded;
 *  - each under a next shorter cover of the length that the profile says, or under none; so more-specifics nest as
 *    deeply as they do in the table. Covers fill as in Simon's model (Biometrika 1955): one more prefix goes to a cover
 *    that has none of its kind yet with the probability parents / count (mostly to one that has others), else beside an
 *    existing one; this gives the table's heavy tail;
 *  - prefixes under no other lie in the blocks of the registries with the blocks' weights;
 *  - beside another prefix means: differing from it first in a bit drawn from the profile's `near`, so that prefixes
 *    cluster as allocations do.
 *
 *  Where there is no room for this, lengths count more than covers: ten prefixes cannot show all kinds of nesting. And
 *  the prefixes under no other fill at most kFull of the blocks (they are 77 % full in the IPv4 profile): what there
 *  would be more of them in a larger table than the profile's are more-specifics of the commonest length instead, which
 *  is how tables did grow. Throws Error if a length cannot hold its share. */
inline constexpr double kFull = 0.8;
std::vector<Prefix> generate_prefixes(const RouteProfile& profile, size_t count, uint64_t seed);

/** A route file of the prefixes, "PREFIX OUTPUT" a line; outputs 0 to hops - 1, each as likely as the other. */
std::string route_file(const std::vector<Prefix>& prefixes, Family family, uint32_t hops, uint64_t seed);

}  // namespace heddle::bench
