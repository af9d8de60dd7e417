#pragma once

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "functions/classifier/field.h"
#include "functions/classifier/image_table.h"

namespace heddle::classifier {

using SharedRules = std::shared_ptr<const std::vector<SetRule>>;

/** What the one who changes an image knows of it: where its rules are, and which are listed. One image has one. */
class Listing {
 public:
  /** Of `built`, an image of `rules` with conditions on places of `layout`, whose `hidden` it takes. */
  Listing(BuiltImage& built, SharedRules rules, const Layout& layout);

  /** The words of the image that make rules with the ids `gone` leave it, and those of `added` enter, with moment().
   *  Nothing, with all as it was, if there is no room to list what must be, or the image does not have a field that a
   *  rule asks for. */
  std::optional<std::vector<TableWord>> change(std::span<const SetRule> added, std::span<const uint32_t> gone);
  /** That begins with the last change. */
  const Moment& moment() const { return moment_; }
  const SharedRules& rules() const { return rules_; }

 private:
  /** The conditions of a rule on the image's dimensions; nothing if one is missing. */
  std::optional<std::vector<PlainCondition>> conditions_of(const Rule& rule) const;
  /** Rules that the image may do without only as long as it has those about to go, and that stay: they must be listed.
   *  Nothing if there are many. */
  std::optional<std::vector<SetRule>> uncovered(std::span<const uint32_t> gone) const;
  uint32_t place_of(uint32_t id) const { return id < places_.size() ? places_[id] : kNoRule; }
  uint64_t end_of(uint32_t place) const;

  const Image* image_;
  SharedRules rules_;
  Layout layout_;
  std::vector<std::pair<uint32_t, uint32_t>> hidden_;
  std::vector<uint32_t> places_;                    // by id, of the rules that the image was built of and has still
  std::unordered_map<uint32_t, uint32_t> listed_;   // places in Image::listed, by id
  uint32_t built_conditions_ = 0, conditions_ = 0;  // before those of listed rules, and of these
  Moment moment_{0, 0};
};

}  // namespace heddle::classifier
