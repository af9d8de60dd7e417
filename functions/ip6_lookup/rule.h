#pragma once

#include "functions/ip6_lookup/tree_rule.h"
#include "functions/ip6_lookup/trie_rule.h"

namespace heddle::ip6_lookup {

static_assert(sizeof(Inner) == kLineBytes && sizeof(Leaf) == kLineBytes);

template <class Node>
HEDDLE_HD const Node& line_of(const Image& image, uint32_t number) {
  return static_cast<const Node*>(behind(&image, image.lines))[number];
}

/** The trie of an image that has one. */
HEDDLE_HD inline const uint32_t* trie_of(const Image& image) {
  return static_cast<const uint32_t*>(behind(&image, image.trie));
}

/** By the image's trie or trees: 0 if no route covers the address of the halves `high` and `low` (host byte order),
 *  else hop_of() says where it leads. */
HEDDLE_HD inline uint16_t lookup(const Image& image, uint64_t high, uint64_t low) {
  return image.trie != 0 ? trie_lookup(trie_of(image), high, low) : value_of(&image, high, low);
}

/** The hop that a value other than 0 is. */
HEDDLE_HD inline GatewayHop hop_of(const Image& image, uint16_t value) {
  if (value < image.first_hop) return {0, value - 1u};
  const GatewayHop* hop = static_cast<const GatewayHop*>(behind(&image, image.hops)) + (value - image.first_hop);
#ifdef __CUDA_ARCH__
  // Not through L1: a trie's new entry may name a hop whose line was read before it was written, when it was nobody's.
  return {__ldcg(&hop->gateway), __ldcg(&hop->port)};
#else
  return *hop;
#endif
}

}  // namespace heddle::ip6_lookup
