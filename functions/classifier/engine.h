#pragma once

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/table.h"
#include "functions/classifier/field.h"
#include "functions/classifier/image_table.h"
#include "functions/classifier/rule.h"
#include "functions/classifier/simd.h"

namespace heddle::classifier {

class RuleSet;

/** What a check throws when nobody wants what is being built any more, for the program is about to end. */
struct Unwanted : std::runtime_error {
  using runtime_error::runtime_error;
};

/** What looks packets up: a search structure for a set of rules. One thread changes it while any number classify; a
 *  change is seen as a whole or not at all by each call of classify(). What a change replaces stays until reclaim(). */
class RuleEngine : public Retiring {
 public:
  struct Limits {
    uint16_t no_match = 0;        ///< what becomes of packets that hit no rule, as Rule::next
    size_t most_bytes = 0;        ///< of the structure
    Layout layout{};              ///< places of rules' conditions; others do not come
    SearchForm form{};            ///< of bit vectors
    double changes = 0;           ///< that are expected, a second; for ENGINE auto
    Simd simd = simds().front();  ///< for lookups on a CPU, but for rte_acl's; one of simds()
    /** What builders call, and may be changed between builds: for who has the element that has the engine. */
    std::shared_ptr<CheckWanted> check_wanted = std::make_shared<CheckWanted>([] {});
  };

  /** Makes `rules` the set, ascending by number, each with an id that no rule of the set before has. Throws Error, with
   *  the set unchanged, if it does not fit; it says how much the set needs. Throws what Limits::check_wanted does. */
  virtual void load(std::span<const SetRule> rules) = 0;
  /** Rules with the ids `gone` leave and those of `added` enter; `all` is what the set is then. Throws as load()
   *  does. */
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

/** Rules that come or go before a thread begins to build bit vectors or a tree anew (ImageEngine). */
constexpr uint32_t kRebuiltAt = 64;
/** Changes of one rule each for which all is built anew once, but for hash tables. */
constexpr uint32_t changes_at_once(EngineKind kind) { return kind == EngineKind::acl ? 1 : kRebuiltAt; }
std::unique_ptr<RuleEngine> make_engine(EngineKind kind, const RuleEngine::Limits& limits);

/** What ENGINE auto takes, and why, for people. */
struct EngineChoice {
  EngineKind kind;
  std::string why;
};
constexpr double kMaxChanging = 0.5;  ///< share of the time that changes may take, each of them one of its own

/** What ENGINE auto takes for a set on a CPU: bit vectors, hash tables and a tree are built of the rules, and look
 *  synthetic keys up, four of five of which hit a rule. Of those whose changes are made fast enough for
 *  Limits::changes, and that are within 5 % of the fastest, it is the one with the fastest changes. That takes
 *  some hundredths of a second and the time to build all. What needs more than kMaxTried is not tried. Not rte_acl,
 *  which can be built only when DPDK runs: see faster_acl(). */
EngineChoice choose_engine(std::span<const SetRule> rules, const RuleEngine::Limits& limits);
constexpr size_t kMaxTried = size_t{256} << 20;  ///< bytes of bit vectors or a tree

/** rte_acl with these rules, if it looks synthetic keys up faster than `than`, which has them, by more than 5 %, and is
 *  built anew fast enough for Limits::changes; else null. Adds what has been found to choice.why, and makes it the
 *  choice's kind. DPDK runs. A part of the rules is built first, then more, so that sets of which building takes long
 *  are given up early. */
std::unique_ptr<RuleEngine> faster_acl(std::span<const SetRule> rules, const RuleEngine::Limits& limits,
                                       const RuleEngine& than, EngineChoice& choice);
constexpr size_t kMaxAclRules = 16384;  ///< more are not tried: they take seconds to build
constexpr double kMaxAclSeconds = 2;    ///< to build, as far as parts of the rules foretell

/** An engine with these rules, which have ids, for a GPU, as ENGINE auto takes it: a tree, if it is built within about
 *  kMaxTreeSeconds; else hash tables, or bit vectors of at most kMaxTried that look synthetic keys up more than
 *  kVectorsLead times as fast on the CPU; else, where hash tables do not fit or do not keep up with Limits::changes,
 *  bit vectors. On an H100, with rules like ClassBench's from 64 to 500,000, trees had 1.0 to 1.4 times the rate of
 *  hash tables, and these 1.1 to 1.9 times that of bit vectors (docs/results/README.md, classifier-engines). Throws
 *  Error if nothing fits and keeps up with the changes. */
std::unique_ptr<RuleEngine> make_gpu_engine(std::span<const SetRule> rules, const RuleEngine::Limits& limits,
                                            EngineChoice& choice);

constexpr double kMaxTreeSeconds = 4;  ///< to build, as far as parts of the rules foretell
/** Where hash tables have this much to compare, a GPU does as well: bit vectors had up to 1.3 times the rate of hash
 *  tables on a CPU with sets for which they were slower on an H100. */
constexpr double kVectorsLead = 2;
/** What a change of hash tables is reckoned with on a GPU beside what the host does: three or four patches, each of
 *  which is waited for. On an H100 a change took 0.08 to 0.11 ms in all with 10,000 rules, and 0.18 to 0.24 with
 *  100,000. */
constexpr double kGpuPatchSeconds = 0.1e-3;

/** What the other engines would need for a set that bit vectors are too large for, or why they would not do. */
std::string sizes_without_vectors(std::span<const SetRule> rules, const RuleEngine::Limits& limits);

}  // namespace heddle::classifier
