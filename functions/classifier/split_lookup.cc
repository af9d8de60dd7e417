// Lookups in a tree: a group of keys goes down together, level by level, so that the nodes of many are on their way at
// once.

#include <algorithm>

#include "functions/classifier/listed.h"
#include "functions/classifier/split_tree.h"

namespace heddle::classifier {
namespace {

constexpr int kWalksAtOnce = 32;

/** Which child of `node` has the value. */
using ChooseChild = uint32_t (*)(const TreeNode& node, uint32_t value);

uint32_t choose_portable(const TreeNode& node, uint32_t value) {
  uint32_t smaller = 0;
  for (const uint32_t limit : node.limits) smaller += limit < value ? 1 : 0;
  return smaller;
}

#ifdef HEDDLE_AVX2
constexpr uint32_t kLimits = (1u << (TreeNode::kWays - 1)) - 1;  // those words of a node are limits

[[gnu::target("avx2,popcnt")]] uint32_t choose_avx2(const TreeNode& node, uint32_t value) {
  const auto* words = reinterpret_cast<const __m256i*>(&node);
  const __m256i all = _mm256_set1_epi32(static_cast<int>(value));
  const auto reached = [&](__m256i limits) __attribute__((target("avx2"))) {
    return static_cast<uint32_t>(
        _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_max_epu32(limits, all), limits))));
  };
  return static_cast<uint32_t>(__builtin_popcount(~(reached(words[0]) | reached(words[1]) << 8) & kLimits));
}

[[gnu::target("avx512f,popcnt")]] uint32_t choose_avx512(const TreeNode& node, uint32_t value) {
  const __m512i all = _mm512_set1_epi32(static_cast<int>(value));
  return static_cast<uint32_t>(__builtin_popcount(_mm512_cmplt_epu32_mask(_mm512_load_si512(&node), all) & kLimits));
}
#endif

constexpr ChooseChild kChoices[] = {choose_portable,
#ifdef HEDDLE_AVX2
                                    choose_avx2, choose_avx512
#endif
};

Outcome first_of(const Image& image, const Moment& when, const TreeNode& leaf, const uint32_t* const* keys, int i) {
  const auto* place = image.at<uint32_t>(image.leaves) + leaf.first;
  const auto* rules = image.at<PlainRule>(image.tree_rules);
  for (const uint32_t* const end = place + (leaf.what - TreeNode::kLeaf); place != end; ++place)
    if (matches(image, when, rules[*place], keys, i)) return rules[*place].outcome;
  return image.outcome(kNoRule);
}

}  // namespace

void classify_by_tree(const Image& image, const Moment& when, const uint32_t* const* keys, Outcome* outcomes, int n,
                      Simd simd) {
  const ChooseChild choose = kChoices[static_cast<size_t>(simd)];
  const auto* nodes = image.at<TreeNode>(image.nodes);
  const auto* leaves = image.at<uint32_t>(image.leaves);
  const auto* rules = image.at<PlainRule>(image.tree_rules);
  const TreeNode* at[kWalksAtOnce];
  int moving[kWalksAtOnce];
  for (int base = 0; base < n; base += kWalksAtOnce) {
    const int count = std::min(kWalksAtOnce, n - base);
    int left = 0;
    for (int i = 0; i < count; ++i) at[i] = nodes, moving[left++] = i;
    while (left > 0) {
      int still = 0;
      for (int m = 0; m < left; ++m) {
        const int i = moving[m];
        if (at[i]->what >= TreeNode::kLeaf) {
          __builtin_prefetch(leaves + at[i]->first);
          continue;
        }
        at[i] = nodes + at[i]->first + choose(*at[i], keys[at[i]->what][base + i]);
        __builtin_prefetch(at[i]);
        moving[still++] = i;
      }
      left = still;
    }
    for (int i = 0; i < count; ++i)
      if (at[i]->what > TreeNode::kLeaf) __builtin_prefetch(rules + leaves[at[i]->first]);
    for (int i = 0; i < count; ++i) outcomes[base + i] = first_of(image, when, *at[i], keys, base + i);
  }
}

}  // namespace heddle::classifier
