#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "measure/generate/prefix.h"

namespace heddle::bench {

/** What there is to say about the prefixes of a routing table, without the prefixes. Text form (`#` starts a comment):
 *
 *     family ipv4
 *     block 91 7695             blocks: the first octet (IPv6: first 16 bits), and the prefixes in it under no other
 *     class - 16 9000 180       prefixes of /16 under no other: how many, in how many blocks
 *     class 16 24 23943 2065    prefixes of /24 whose next shorter cover is a /16: how many, under how many /16s
 *     covers 16 4100            /16s with any more-specific: fewer than the classes' parents, since many have several
 *                               kinds
 *     near 24 95007 52400 ...   /24s next to another under the same cover that differ from it first in the last bit,
 *                               the last but one, ...
 */
struct RouteProfile {
  struct Class {
    int cover, length;      ///< cover: length of the next shorter cover; kNone: none, or shorter than a block
    double count, parents;  ///< parents: different covers (blocks, if there is no cover) among `count`
  };
  static constexpr int kNone = -1;

  Family family = Family::ipv4;
  std::map<uint32_t, double> blocks;      ///< first block_bits() bits -> prefixes of cover kNone in it
  std::map<int, double> covers;           ///< length -> different covers of it
  std::vector<Class> classes;             ///< by length, then cover
  std::vector<std::vector<double>> near;  ///< [length][i]: neighbours that differ first in bit length - 1 - i

  /** Registries have IPv4 by /8; IPv6's /12s to /23s are told apart by 16 bits. */
  int block_bits() const { return family == Family::ipv4 ? 8 : 16; }
  uint32_t block_of(Address address) const { return static_cast<uint32_t>(address >> (128 - block_bits())); }
  double count_of(int length) const;
};

/** The profile of a table. Throws Error if it holds no prefix. */
RouteProfile profile_of(std::vector<Prefix> table, Family family);

std::string to_text(const RouteProfile& profile);
RouteProfile parse_profile(const std::string& name, std::string_view text);

/** A real BGP table of the family. IPv4: RouteViews' RIB of 2014-05-13 06:00 UTC, 512,490 prefixes; IPv6: that of
 *  2015-11-01 06:00, 27,693. Both as pyasn (Asghari, MIT) makes them of the collector's dump. */
const RouteProfile& real_profile(Family family);

/** `path` is a profile in its text form, or a table: lines that begin with a prefix (route files, prefix<TAB>AS), lines
 *  with prefixes of the other family are passed over. Throws Error. */
RouteProfile profile_like(const std::string& path, Family family);

}  // namespace heddle::bench
