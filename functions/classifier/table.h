#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "core/huge_pages.h"
#include "core/table.h"
#include "functions/classifier/field.h"
#include "functions/classifier/image.h"

namespace heddle::classifier {

/** Rules numbered from 0, with their numbers as ids. */
std::vector<SetRule> numbered(std::span<const Rule> rules);

/** A set of rules as an Image. A set is replaced as a whole: the new image is built beside the old one, which readers keep
 *  until they are done (reclaim()). */
class BitVectorTable : public Table {
 public:
  /** Makes `rules` the set, ascending by number, whose further conditions are on places of `layout`; packets that hit none get
   *  `no_match`. Throws Error, with the table unchanged, if the image needs more than `most_bytes`; it says how much. */
  void load(std::span<const SetRule> rules, uint16_t no_match, size_t most_bytes, const Layout& layout = {},
            SearchForm form = SearchForm::packed);
  void load(std::span<const Rule> rules, uint16_t no_match, size_t most_bytes, SearchForm form = SearchForm::packed) {
    load(numbered(rules), no_match, most_bytes, {}, form);
  }

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

/** Sets rules[i] to the place (Image::outcome) of the rule that key first + i hits, or kNoRule; value f of key i is keys[f][i].
 *  Any number of threads may call it. `n` may be 0. */
void lookup_bulk(const Image& image, const uint32_t* const* keys, int first, uint32_t* rules, int n);

/** The same for one key of a set that asks for the 5-tuple only. */
uint32_t lookup(const Image& image, const Key& key);

}  // namespace heddle::classifier
