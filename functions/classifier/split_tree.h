#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "core/huge_pages.h"
#include "core/table.h"
#include "functions/classifier/field.h"
#include "functions/classifier/image.h"

namespace heddle::classifier {

constexpr size_t kLeafRules = 8;  ///< more only where no cut tells rules apart

/** A set of rules as an Image with a tree. A set is replaced as a whole, as BitVectorTable does it. */
class SplitTable : public Table {
 public:
  /** Makes `rules` the set, ascending by number, with conditions on places of `layout`; packets that hit none get `no_match`. Throws
   *  Error, with the table unchanged, as soon as the tree needs more than `most_bytes`: rules that lie across many cuts are in many
   *  leaves, and how many is known only then. */
  void load(std::span<const SetRule> rules, uint16_t no_match, size_t most_bytes, const Layout& layout);

  std::span<const std::byte> bytes() const override { return {memory_.get(), bytes_}; }
  bool has_retired() const override { return !retired_.empty(); }
  void reclaim() override { retired_.clear(); }

  /** For readers, who fetch it anew for each batch. */
  const Image& image() const { return *image_.load(std::memory_order_acquire); }

 private:
  HugePages memory_;
  size_t bytes_ = 0;
  std::atomic<const Image*> image_{nullptr};
  std::vector<HugePages> retired_;
};

/** Sets outcomes[i] to that of key i, as RuleEngine::classify. */
void classify_by_tree(const Image& image, const uint32_t* const* keys, Outcome* outcomes, int n);

}  // namespace heddle::classifier
