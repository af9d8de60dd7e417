#pragma once

#include <span>
#include <vector>

#include "functions/classifier/field.h"
#include "functions/classifier/image_table.h"
#include "functions/classifier/simd.h"

namespace heddle::classifier {

/** Rules numbered from 0, with their numbers as ids. */
std::vector<SetRule> numbered(std::span<const Rule> rules);

/** Bit vectors of `rules`, ascending by number, whose further conditions are on places of `layout`; packets that hit
 *  none get `no_match`. Throws Error if the image needs more than `most_bytes`; it says how much. */
BuiltImage build_vectors(
    std::span<const SetRule> rules, uint16_t no_match, size_t most_bytes, const Layout& layout, SearchForm form,
    const CheckWanted& check_wanted = [] {});

/** A set of rules as bit vectors. */
class BitVectorTable : public ImageTable {
 public:
  /** Makes `rules` the set, as build_vectors(). Throws as that does, with the table unchanged. */
  void load(std::span<const SetRule> rules, uint16_t no_match, size_t most_bytes, const Layout& layout = {},
            SearchForm form = SearchForm::packed) {
    take(build_vectors(rules, no_match, most_bytes, layout, form));
  }
  void load(std::span<const Rule> rules, uint16_t no_match, size_t most_bytes, SearchForm form = SearchForm::packed) {
    load(numbered(rules), no_match, most_bytes, {}, form);
  }
};

/** Sets rules[i] to the place (Image::outcome) of the rule that key first + i hits at that moment of those that the
 *  vectors were built of, or kNoRule; value f of key i is keys[f][i]. Any number of threads may call it. `n` may
 *  be 0. `simd`: one of simds(). */
void lookup_bulk(const Image& image, const Moment& when, const uint32_t* const* keys, int first, uint32_t* rules, int n,
                 Simd simd = simds().front());

/** Sets outcomes[i] to that of key i, as RuleEngine::classify, of the same rules. */
void classify_by_vectors(const Image& image, const Moment& when, const uint32_t* const* keys, Outcome* outcomes, int n,
                         Simd simd);

/** The same for one key of a set that asks for the 5-tuple only. */
uint32_t lookup(const Image& image, const Key& key);

}  // namespace heddle::classifier
