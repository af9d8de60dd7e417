#pragma once

#include "functions/ip6_lookup/tree_rule.h"

namespace heddle::ip6_lookup {

static_assert(sizeof(Inner) == kLineBytes && sizeof(Leaf) == kLineBytes);

template <class Node>
HEDDLE_HD const Node& line_of(const Image& image, uint32_t number) {
  return static_cast<const Node*>(behind(&image, image.lines))[number];
}

/** As value_of(): 0 if no route covers the address of the halves `high` and `low`, else hop_of() says where it
 *  leads. */
HEDDLE_HD inline uint16_t lookup(const Image& image, uint64_t high, uint64_t low) {
  return value_of(&image, high, low);
}

/** The hop that a value other than 0 is. */
HEDDLE_HD inline GatewayHop hop_of(const Image& image, uint16_t value) {
  if (value < image.first_hop) return {0, value - 1u};
  return static_cast<const GatewayHop*>(behind(&image, image.hops))[value - image.first_hop];
}

}  // namespace heddle::ip6_lookup
