#pragma once

#include <cstddef>
#include <cstdint>

#include "core/macros.h"

namespace heddle::ip6_lookup {

/** The routes as intervals of addresses, in trees that are searched from the root, the same bytes on CPU and GPU. Prefixes
 *  cut the address space into intervals, in each of which one prefix is the longest that matches; so a route is found by
 *  finding the interval, as in a B+-tree whose nodes lie level by level and need no pointers (PlanB, NSDI 2026).
 *
 *  The main tree is searched by the first 64 bits of an address. An interval is known by its last address; the last of a
 *  node needs no place there, since it is in the node above. A node is a cache line: an inner one has 8 limits and 9
 *  children, a leaf 6 limits and the values of 7 intervals. The number of limits that are smaller than the key says where
 *  to go on. The value of 64 bits of which longer prefixes exist leads to a tree of its own, which is searched in the same
 *  way by the last 64 bits.
 *
 *  Limits are stored with their first bit flipped, so that signed comparison orders them (AVX2 has no other), and filled up
 *  with the largest, which nothing exceeds. */
constexpr uint32_t kInnerLimits = 8, kInnerChildren = 9, kLeafLimits = 6, kLeafValues = 7;
constexpr int kMaxLevels = 11;  // 9^10 leaves
constexpr uint32_t kLineBytes = 64;

struct alignas(kLineBytes) Inner {
  int64_t limit[kInnerLimits];
};
struct alignas(kLineBytes) Leaf {
  int64_t limit[kLeafLimits];
  uint16_t
      value[kLeafValues];  ///< 0: no route; below Image::first_hop: the output + 1; below kFirstTree: of a Hop; else
                           ///< bases[leaf] + value - kFirstTree is the number of a Tree
  uint16_t unused;
};
static_assert(sizeof(Inner) == kLineBytes && sizeof(Leaf) == kLineBytes);

/** Values from here up are trees, so outputs are below kFirstTree - 1. */
constexpr uint16_t kFirstTree = 49152;

/** Where routes with a gateway lead. */
struct GatewayHop {
  uint32_t gateway;  ///< its number, see elements/ip6/gateways.h
  uint32_t port;
};

/** A tree for the last 64 bits. */
struct Tree {
  uint32_t line;  ///< of its first leaf; the level above lies behind the leaves, and so on up to the root
  uint32_t leaves;
};

struct Image {
  uint32_t levels;             ///< of the main tree; 1: the root is a leaf
  uint32_t level[kMaxLevels];  ///< line of the first node of each level, the root's first
  uint64_t lines;              ///< offset from the image's start, a multiple of 64
  uint64_t bases;              ///< offset of uint32_t[leaves of the main tree]
  uint64_t trees;              ///< offset of Tree[...]
  uint64_t hops;               ///< offset of GatewayHop[...], by value - first_hop
  uint32_t first_hop;          ///< values from here up to kFirstTree are hops with gateways

  template <class T>
  HEDDLE_HD const T* at(uint64_t offset) const {
    return reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(this) + offset);
  }
  template <class Node>
  HEDDLE_HD const Node& line(uint32_t number) const {
    return at<Node>(lines)[number];
  }
};

/** 64 bits of an address (host byte order) as limits are stored. */
HEDDLE_HD constexpr int64_t ordered(uint64_t bits) { return static_cast<int64_t>(bits ^ uint64_t{1} << 63); }

template <uint32_t n>
HEDDLE_HD inline uint32_t smaller(const int64_t (&limits)[n], int64_t key) {
  uint32_t count = 0;
#ifdef __CUDA_ARCH__
  for (uint32_t k = 0; k < n; k += 2) {
    const longlong2 two = *reinterpret_cast<const longlong2*>(limits + k);
    count += (two.x < key ? 1 : 0) + (two.y < key ? 1 : 0);
  }
#else
  for (uint32_t k = 0; k < n; ++k) count += limits[k] < key ? 1 : 0;
#endif
  return count;
}

/** The value that `key` has in a tree without trees below it. */
HEDDLE_HD inline uint16_t find(const Image& image, Tree tree, int64_t key) {
  const auto nodes_of = [&](int level) {
    uint32_t nodes = tree.leaves;
    for (int below = 0; below < level; ++below) nodes = (nodes + kInnerChildren - 1) / kInnerChildren;
    return nodes;
  };
  uint32_t first = tree.line, node = 0;  // the level's first line, and where the way down is in it
  int level = 0;
  for (uint32_t nodes = tree.leaves; nodes > 1; nodes = nodes_of(++level)) first += nodes;
  for (; level > 0; --level) {  // no array of first lines: a GPU would keep it in memory
    node = node * kInnerChildren + smaller(image.line<Inner>(first + node).limit, key);
    first -= nodes_of(level - 1);
  }
  const Leaf& leaf = image.line<Leaf>(first + node);
  return leaf.value[smaller(leaf.limit, key)];
}

/** What a value of leaf `leaf` of the main tree comes to: 0 for no route, else the output + 1 or the value of a hop. */
HEDDLE_HD inline uint16_t resolved(const Image& image, uint32_t leaf, uint16_t value, uint64_t low) {
  if (value < kFirstTree) return value;
  const uint32_t tree = image.at<uint32_t>(image.bases)[leaf] + (value - kFirstTree);
  return find(image, image.at<Tree>(image.trees)[tree], ordered(low));
}

/** 0 if no route covers the address of the halves `high` and `low` (host byte order), else hop_of() says where it leads. */
HEDDLE_HD inline uint16_t lookup(const Image& image, uint64_t high, uint64_t low) {
  const int64_t key = ordered(high);
  uint32_t node = 0, level = 0;
  for (; level + 1 < image.levels; ++level)
    node = node * kInnerChildren + smaller(image.line<Inner>(image.level[level] + node).limit, key);
  const Leaf& leaf = image.line<Leaf>(image.level[level] + node);
  return resolved(image, node, leaf.value[smaller(leaf.limit, key)], low);
}

/** The hop that a value other than 0 is. */
HEDDLE_HD inline GatewayHop hop_of(const Image& image, uint16_t value) {
  if (value < image.first_hop) return {0, value - 1u};
  return image.at<GatewayHop>(image.hops)[value - image.first_hop];
}

}  // namespace heddle::ip6_lookup
