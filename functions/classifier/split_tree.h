#pragma once

#include <span>

#include "functions/classifier/field.h"
#include "functions/classifier/image_table.h"
#include "functions/classifier/simd.h"

namespace heddle::classifier {

constexpr size_t kLeafRules = 8;  ///< more only where no cut tells rules apart

/** A tree of `rules`, ascending by number, with conditions on places of `layout`; packets that hit none get `no_match`.
 *  Throws Error as soon as the tree needs more than `most_bytes`: rules that lie across many cuts are in many leaves,
 *  and how many is known only then. */
BuiltImage build_tree(
    std::span<const SetRule> rules, uint16_t no_match, size_t most_bytes, const Layout& layout,
    const CheckWanted& check_wanted = [] {});

/** Sets outcomes[i] to that of key i at that moment, of the rules that the tree was built of, as
 *  RuleEngine::classify. `simd`: one of simds(). */
void classify_by_tree(const Image& image, const Moment& when, const uint32_t* const* keys, Outcome* outcomes, int n,
                      Simd simd);

}  // namespace heddle::classifier
