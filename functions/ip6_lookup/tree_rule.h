/* IPv6 routes as intervals of addresses, in trees that are searched from the root, the same bytes on CPU and GPU.
   Prefixes cut the address space into intervals, in each of which one prefix is the longest that matches; so a route is
   found by finding the interval, as in a B+-tree whose nodes lie level by level and need no pointers (PlanB, NSDI
   2026).

   The main tree is searched by the first 64 bits of an address. An interval is known by its last address; the last of a
   node needs no place there, since it is in the node above. A node is a cache line: an inner one has 8 limits and 9
   children, a leaf 6 limits and the values of 7 intervals. The number of limits that are smaller than the key says
   where to go on. The value of 64 bits of which longer prefixes exist leads to a tree of its own, which is searched in
   the same way by the last 64 bits.

   Limits are stored with their first bit flipped, so that signed comparison orders them (AVX2 has no other), and filled
   up with the largest, which nothing exceeds.
   Plain C11 that is also C++ and CUDA, so that gopt can take it as it stands. */
#pragma once

#include <stdint.h>

#include "core/macros.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__) && !defined(__CUDACC__) && !defined(__GOPT__)
#define IP6_BY_AVX512 /* by files that are compiled for it */
#include <immintrin.h>
#endif

#ifdef __cplusplus
namespace heddle::ip6_lookup {
#endif

enum { kInnerLimits = 8, kInnerChildren = 9, kLeafLimits = 6, kLeafValues = 7 };
enum { kMaxLevels = 11 }; /* 9^10 leaves */
enum { kLineBytes = 64 };
/* Values from here up are trees, so outputs are below kFirstTree - 1. */
enum { kFirstTree = 49152 };
enum { kTopNodes = 64 };
/* Leaves of the main tree that count their trees from the same base, which so many fit in 16 bits. */
enum { kLeavesABase = 4096 };

struct __attribute__((aligned(64))) Inner {
  int64_t limit[kInnerLimits];
};
struct __attribute__((aligned(64))) Leaf {
  int64_t limit[kLeafLimits];
  /* 0: no route; below Image::first_hop: the output + 1; below kFirstTree: of a Hop; else bases[leaf / kLeavesABase] +
     first_tree + value - kFirstTree is the number of a Tree. */
  uint16_t value[kLeafValues];
  uint16_t first_tree;
};

/* Where routes with a gateway lead. */
struct GatewayHop {
  uint32_t gateway; /* its number, see elements/ip6/gateways.h */
  uint32_t port;
};

/* A tree for the last 64 bits. */
struct Tree {
  uint32_t line; /* of its first leaf; the level above lies behind the leaves, and so on up to the root */
  uint32_t leaves;
};

struct Image {
  /* Limits that part the nodes of `top_level`, the last level of the main tree with at most kTopNodes: a key's node is
     as far from the level's first one as limits are smaller than the key. [k][m] is limit 8 m + k. */
  int64_t top[8][kTopNodes / 8];
  uint32_t top_level;
  uint32_t levels;            /* of the main tree; 1: the root is a leaf */
  uint32_t level[kMaxLevels]; /* line of the first node of each level, the root's first */
  uint64_t lines;             /* offset from the image's start, a multiple of 64 */
  uint64_t bases;             /* offset of uint32_t[], by the number of a leaf / kLeavesABase */
  uint64_t trees;             /* offset of Tree[...] */
  uint64_t hops;              /* offset of GatewayHop[...], by value - first_hop */
  uint32_t first_hop;         /* values from here up to kFirstTree are hops with gateways */
  uint32_t far;               /* the first level that has too many nodes to stay in a core's first cache */
  uint64_t trie;              /* offset of a trie (trie_rule.h), which then stands for the trees; 0: none */
};

HEDDLE_HD static inline const void* behind(const struct Image* image, uint64_t offset) {
  return (const char*)image + offset;
}
HEDDLE_HD static inline const struct Inner* inner_at(const struct Image* image, uint32_t line) {
  return (const struct Inner*)behind(image, image->lines) + line;
}
HEDDLE_HD static inline const struct Leaf* leaf_at(const struct Image* image, uint32_t line) {
  return (const struct Leaf*)behind(image, image->lines) + line;
}

/* 64 bits of an address (host byte order) as limits are stored. */
HEDDLE_HD static inline int64_t ordered(uint64_t bits) { return (int64_t)(bits ^ (uint64_t)1 << 63); }

/* How many of a node's first `n` limits, 6 or 8, are smaller than the key. */
HEDDLE_HD static inline uint32_t limits_below(const int64_t* limits, uint32_t n, int64_t key) {
#if defined(IP6_BY_AVX512)
  const __mmask8 which = (__mmask8)((1u << n) - 1);
  const unsigned bits = _mm512_mask_cmplt_epi64_mask(which, _mm512_load_si512(limits), _mm512_set1_epi64(key));
  return (uint32_t)__builtin_popcount(bits);
#else
  uint32_t count = 0;
#ifdef __CUDA_ARCH__
  for (uint32_t k = 0; k < n; k += 2) {
    const longlong2 two = *(const longlong2*)(limits + k);
    count += (two.x < key ? 1 : 0) + (two.y < key ? 1 : 0);
  }
#else
  for (uint32_t k = 0; k < n; ++k) count += limits[k] < key ? 1 : 0;
#endif
  return count;
#endif
}

/* Nodes that a tree has so many levels above its leaves. */
HEDDLE_HD static inline uint32_t nodes_above(const struct Tree* tree, uint32_t level) {
  uint32_t nodes = tree->leaves;
  for (uint32_t below = 0; below < level; ++below) nodes = (nodes + kInnerChildren - 1) / kInnerChildren;
  return nodes;
}

/* The value that `key` has in a tree without trees below it. */
HEDDLE_HD static inline uint16_t value_in(const struct Image* image, const struct Tree* tree, int64_t key) {
  uint32_t first = tree->line, node = 0; /* the level's first line, and where the way down is in it */
  uint32_t level = 0;
  for (uint32_t nodes = tree->leaves; nodes > 1; nodes = nodes_above(tree, ++level)) first += nodes;
  for (; level > 0; --level) { /* no array of first lines: a GPU would keep it in memory */
    const struct Inner* inner = inner_at(image, first + node);
    g_expensive(inner);
    node = node * kInnerChildren + limits_below(inner->limit, kInnerLimits, key);
    first -= nodes_above(tree, level - 1);
  }
  const struct Leaf* leaf = leaf_at(image, first + node);
  g_expensive(leaf);
  return leaf->value[limits_below(leaf->limit, kLeafLimits, key)];
}

/* What a value of leaf `leaf` of the main tree comes to: 0 for no route, else the output + 1 or the value of a hop. */
HEDDLE_HD static inline uint16_t resolved_value(const struct Image* image, uint32_t leaf, uint16_t value,
                                                uint64_t low) {
  if (value < kFirstTree) return value;
  const uint32_t base = ((const uint32_t*)behind(image, image->bases))[leaf / kLeavesABase];
  const uint32_t first = base + leaf_at(image, image->level[image->levels - 1] + leaf)->first_tree;
  const struct Tree* tree = (const struct Tree*)behind(image, image->trees) + (first + (value - (uint32_t)kFirstTree));
  g_expensive(tree);
  return value_in(image, tree, ordered(low));
}

/* 0 if no route covers the address of the halves `high` and `low` (host byte order), else hop_of() says where it
   leads. */
HEDDLE_HD static inline uint16_t value_of(const struct Image* image, uint64_t high, uint64_t low) {
  const int64_t key = ordered(high);
  uint32_t node = 0, level = 0;
  for (; level + 1 < image->levels; ++level) {
    const struct Inner* inner = inner_at(image, image->level[level] + node);
    if (level >= image->far) g_expensive(inner);
    node = node * kInnerChildren + limits_below(inner->limit, kInnerLimits, key);
  }
  const struct Leaf* leaf = leaf_at(image, image->level[level] + node);
  g_expensive(leaf);
  const uint16_t value = leaf->value[limits_below(leaf->limit, kLeafLimits, key)];
  return resolved_value(image, node, value, low);
}

#ifdef __cplusplus
} /* namespace heddle::ip6_lookup */
#endif
