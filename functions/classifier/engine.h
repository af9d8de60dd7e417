#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/table.h"
#include "functions/classifier/field.h"
#include "functions/classifier/image.h"
#include "functions/classifier/rule.h"

namespace heddle::classifier {

class RuleSet;

/** What looks packets up: a search structure for a set of rules. One thread changes it while any number classify; a change is
 *  seen as a whole or not at all by each call of classify(). What a change replaces stays until reclaim(). */
class RuleEngine : public Retiring {
 public:
  struct Limits {
    uint16_t no_match = 0;  ///< what becomes of packets that hit no rule, as Rule::next
    size_t most_bytes = 0;  ///< of the structure
    Layout layout{};        ///< places of rules' conditions; others do not come
    SearchForm form{};      ///< of bit vectors
  };

  /** Makes `rules` the set, ascending by number, each with an id that no rule of the set before has. Throws Error, with the set
   *  unchanged, if it does not fit; it says how much the set needs. */
  virtual void load(std::span<const SetRule> rules) = 0;
  /** Rules with the ids `gone` leave and those of `added` enter; `all` is what the set is then. Throws as load() does. */
  virtual void change(std::span<const SetRule> added, std::span<const uint32_t> gone, const RuleSet& all);
  /** Called once, when the program starts, before the first packet. Throws Error. */
  virtual void start() {}

  /** Sets outcomes[i] to that of key i; value f of key i is keys[f][i], host byte order: the 5-tuple, and behind it
   *  place p of the layout as value kFields + p. `n` may be 0. Any thread. */
  virtual void classify(const uint32_t* const* keys, Outcome* outcomes, int n) const = 0;
  /** Memory that the structure takes. */
  virtual size_t bytes() const = 0;
  /** What a GPU looks packets up in; null if it cannot. */
  virtual Table* table() { return nullptr; }
};

enum class EngineKind { bitvector, acl, tuple, hypersplit };
std::string_view name_of(EngineKind kind);
std::unique_ptr<RuleEngine> make_engine(EngineKind kind, const RuleEngine::Limits& limits);

/** What ENGINE auto takes for a set, and why, for people. On a CPU, the engine that looks synthetic keys up the fastest, four of
 *  five of which hit a rule: that takes some milliseconds and what it takes to build both. Bit vectors are not tried for sets
 *  that they are too large for, nor anything for small ones. Never rte_acl: it must be built when the program has started, and
 *  as a whole for each rule that changes; nor HyperSplit, whose size nobody knows before it is built. */
struct EngineChoice {
  EngineKind kind;
  std::string why;
};
EngineChoice choose_engine(std::span<const SetRule> rules, const RuleEngine::Limits& limits, bool on_gpu);
constexpr size_t kFewRules = 64;                          ///< no measurement up to here
constexpr size_t kMostMeasuredBytes = size_t{256} << 20;  ///< of bit vectors

}  // namespace heddle::classifier
