#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "measure/generate/filter_parameters.h"
#include "measure/generate/prefix.h"
#include "measure/generate/random.h"

namespace heddle::bench {

/** The shape of the trie of IPv4 prefixes; a prefix that comes several times weighs so much more. */
TrieShape shape_of(std::vector<Prefix> prefixes);

/** An address to be chosen: its length is given. If it is to correlate with another, the other's bits, too. */
struct WantedPrefix {
  int length = 0;
  Prefix chosen = {};
  const Prefix* correlated = nullptr;  ///< nullptr: free
};

/** Chooses the addresses so that their trie has `shape`, as ClassBench does it (ToN 2007, section IV.B): from the root
 *  down, a node's filters go to one child or are split over two by the skew. An address that correlates goes on equal
 *  to the other with probability correlation[length] per bit, and once different goes where free ones go. The nesting
 *  threshold is kept as far as ClassBench keeps it: near it, prefixes that end are put apart from those that go on. */
void choose_addresses(std::vector<WantedPrefix>& wanted, const TrieShape& shape, std::span<const double> correlation,
                      Random& random);

/** Makes the trie wider for `factor` times as many filters (db_generator -b): from the root down, levels branch more
 *  and more evenly until there is room. */
TrieShape widened(TrieShape shape, double factor);

}  // namespace heddle::bench
