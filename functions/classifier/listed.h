#pragma once

#include <algorithm>

#include "functions/classifier/image.h"
#include "functions/classifier/simd.h"

namespace heddle::classifier {

/** Whether key i hits the rule at that moment, apart from those before it. */
inline bool matches(const Image& image, const Moment& when, const PlainRule& rule, const uint32_t* const* keys, int i) {
  for (int f = 0; f < kFields; ++f)
    if (keys[f][i] < rule.low[f] || rule.high[f] < keys[f][i]) return false;
  const auto* condition = image.at<PlainCondition>(image.conditions) + rule.first_condition;
  return when.is_before(rule.end) && std::all_of(condition, condition + rule.conditions, [&](const auto& one) {
           const Dimension& dimension = image.dimensions[one.dimension];
           const uint32_t value = keys[dimension.value][i] >> dimension.shift & dimension.mask & one.mask;
           return one.low <= value && value <= one.high;
         });
}

/** Looks keys up among the rules that are listed: `outcomes`, those of the rules that the image was built of, become
 *  those of all. Keys as for RuleEngine::classify. `simd`: one of simds(). */
void search_listed(const Image& image, const Moment& when, const uint32_t* const* keys, Outcome* outcomes, int n,
                   Simd simd);

}  // namespace heddle::classifier
