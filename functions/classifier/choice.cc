// ENGINE auto: the engine that is the fastest for a set of rules and keeps up with its changes, by trying.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "core/error.h"
#include "functions/classifier/engine.h"
#include "functions/classifier/rule_set.h"

namespace heddle::classifier {
namespace {

constexpr int kBurst = 64, kRounds = 5;
constexpr double kRoundSeconds = 0.5e-3, kAboutAsFast = 0.95;

/** Keys of which four of five lie in a rule, the same for the same rules. A burst of them a rule, 16 to 256 bursts:
 *  what an engine reads for few keys stays in the caches, which is not what packets will find. */
class SyntheticKeys {
 public:
  SyntheticKeys(std::span<const SetRule> rules, const Layout& layout)
      : count_(std::clamp<size_t>(rules.size(), 16, 256) * kBurst), values_(kFields + layout.size()) {
    std::mt19937 random(1);
    for (size_t k = 0; k < count_; ++k) {
      const Rule& rule = rules[random() % rules.size()].rule;
      const bool inside = random() % 5 != 0;
      for (size_t f = 0; f < kFields; ++f)
        values_[f].push_back(inside ? within(rule.low[f], rule.high[f], random) : any(kLargest[f], random));
      for (size_t p = 0; p < layout.size(); ++p) {
        uint32_t value =
            layout[p].kind == Place::field ? values_[layout[p].offset].back() : any(layout[p].largest(), random);
        const auto asked = std::ranges::find(rule.more, layout[p], &Condition::place);
        if (inside && asked != rule.more.end())
          value =
              asked->low == asked->high ? (value & ~asked->mask) | asked->low : within(asked->low, asked->high, random);
        values_[kFields + p].push_back(value);
        if (layout[p].kind == Place::field) values_[layout[p].offset].back() = value;
      }
    }
  }

  /** Keys a second. */
  double rate(const RuleEngine& engine) const {
    using Clock = std::chrono::steady_clock;
    std::vector<const uint32_t*> keys(values_.size());
    Outcome outcomes[kBurst];
    uint64_t done = 0;
    const auto start = Clock::now();
    std::chrono::duration<double> passed{};
    do {
      for (size_t at = 0; at < count_; at += kBurst) {
        for (size_t f = 0; f < keys.size(); ++f) keys[f] = &values_[f][at];
        engine.classify(keys.data(), outcomes, kBurst);
      }
      done += count_;
      passed = Clock::now() - start;
    } while (passed.count() < kRoundSeconds);
    return static_cast<double>(done) / passed.count();
  }

 private:
  static uint32_t any(uint32_t largest, std::mt19937& random) { return static_cast<uint32_t>(random()) & largest; }
  static uint32_t within(uint32_t low, uint32_t high, std::mt19937& random) {
    return low + static_cast<uint32_t>(random() % (uint64_t{high} - low + 1));
  }

  size_t count_;  // a multiple of kBurst
  std::vector<std::vector<uint32_t>> values_;
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/** An engine with the rules. */
struct Candidate {
  EngineKind kind;
  std::unique_ptr<RuleEngine> engine{};  // null: it refuses them
  std::string refusal{};
  double change_seconds = 0, rate = 0;  // keys a second

  bool keeps_up(double changes) const { return changes * change_seconds <= kMaxChanging; }
};

/** Seconds that a change of one rule takes where nothing is built anew. */
double seconds_of_change(RuleSet& set, RuleEngine& engine) {
  constexpr int kChanges = 64;
  const std::vector<SetRule> rules = set.sorted();
  const double start = now();
  for (size_t i = 0; i < kChanges; ++i) {
    const SetRule& rule = rules[i * 997 % rules.size()];
    const RuleChange change{rule.number, rule.rule};
    set.change({&change, 1}, engine);
    engine.reclaim(), set.reclaim();
  }
  return (now() - start) / kChanges;
}

Candidate try_engine(EngineKind kind, std::span<const SetRule> rules, RuleEngine::Limits limits) {
  if (kind != EngineKind::tuple) limits.most_bytes = std::min(limits.most_bytes, kMaxTried);
  Candidate result{kind};
  try {
    RuleSet set;
    result.engine = make_engine(kind, limits);
    const double start = now();
    set.load(std::vector<SetRule>(rules.begin(), rules.end()), *result.engine);
    result.change_seconds = (now() - start) / changes_at_once(kind);
    if (kind == EngineKind::tuple) result.change_seconds = seconds_of_change(set, *result.engine);
  } catch (const Error& error) {
    result.engine.reset();
    result.refusal = error.what();
    // What is tried may be less than MEMORY.
    result.refusal = result.refusal.substr(0, result.refusal.find(", and MEMORY"));
    if (result.refusal != error.what()) result.refusal += format(" (at most %zu MB)", limits.most_bytes >> 20);
  }
  return result;
}

std::string text_of(const std::vector<Candidate>& candidates, size_t rules, double changes) {
  std::string text = format("%zu rules, tried with synthetic keys:", rules), refusals;
  const char* separator = " ";
  for (const Candidate& one : candidates) {
    const std::string name(name_of(one.kind));
    if (one.engine == nullptr) {
      refusals += "; no " + name + ": " + one.refusal;
      continue;
    }
    text += separator + format("%s %.3g million a second and %.3f ms a change", name.c_str(), one.rate / 1e6,
                               1e3 * one.change_seconds);
    separator = ", ";
  }
  if (changes > 0) text += format("; for %g changes a second, %.3f ms", changes, 1e3 * kMaxChanging / changes);
  return text + refusals;
}

}  // namespace

EngineChoice choose_engine(std::span<const SetRule> rules, const RuleEngine::Limits& limits) {
  if (rules.empty()) return {EngineKind::tuple, "no rules"};
  std::vector<Candidate> candidates;
  for (const EngineKind kind : {EngineKind::bitvector, EngineKind::tuple, EngineKind::hypersplit})
    candidates.push_back(try_engine(kind, rules, limits));
  const SyntheticKeys keys(rules, limits.layout);
  for (int round = 0; round < kRounds; ++round)
    for (Candidate& one : candidates)
      if (one.engine != nullptr) one.rate = std::max(one.rate, keys.rate(*one.engine));
  double fastest = 0;  // of those that keep up
  for (const Candidate& one : candidates)
    if (one.keeps_up(limits.changes)) fastest = std::max(fastest, one.rate);
  // Of those about as fast, the one that changes the fastest.
  const auto fits = [&](const Candidate& one) {
    return one.engine != nullptr &&
           (fastest == 0 || (one.keeps_up(limits.changes) && one.rate >= kAboutAsFast * fastest));
  };
  const Candidate& best = *std::ranges::min_element(candidates, [&](const Candidate& a, const Candidate& b) {
    return fits(a) != fits(b) ? fits(a) : a.change_seconds < b.change_seconds;
  });
  // If nothing fits, hash tables say what they need.
  return {best.engine != nullptr ? best.kind : EngineKind::tuple, text_of(candidates, rules.size(), limits.changes)};
}

namespace {

/** An engine with the rules, of which parts are built before, so that sets of which building takes longer than `most`
 *  seconds are given up early. */
struct Built {
  std::unique_ptr<RuleEngine> engine{};  // null: given up, or refused
  std::string refusal{};
  double seconds = 0;
  bool given_up = false;
};

Built build_within(double most, EngineKind kind, std::span<const SetRule> rules, const RuleEngine::Limits& limits) {
  constexpr size_t kFewest = 256;
  constexpr double kGrowth = 4;  // of the time, with twice as many rules
  size_t count = rules.size();
  while (count > kFewest && std::isfinite(most)) count = (count + 1) / 2;
  Built built;
  try {
    for (;; count = std::min(2 * count, rules.size())) {
      auto engine = make_engine(kind, limits);
      engine->start();
      const double start = now();
      engine->load(rules.first(count));
      built.seconds = now() - start;
      if (count == rules.size()) {
        built.engine = std::move(engine);
        return built;
      }
      if (built.seconds * kGrowth > most) break;
    }
    built.given_up = true;
    built.refusal = format("%zu of the rules take %.1f s to be built", count, built.seconds);
  } catch (const Error& error) {
    built.refusal = error.what();
  }
  return built;
}

}  // namespace

std::unique_ptr<RuleEngine> faster_acl(std::span<const SetRule> rules, const RuleEngine::Limits& limits,
                                       const RuleEngine& than, EngineChoice& choice) {
  const auto refused = [&](const std::string& why) {
    choice.why += "; no acl: " + why;
    return nullptr;
  };
  if (rules.empty() || rules.size() > kMaxAclRules) return refused(format("%zu rules", rules.size()));
  auto [acl, refusal, seconds, given_up] = build_within(kMaxAclSeconds, EngineKind::acl, rules, limits);
  if (acl == nullptr) return refused(refusal);
  const SyntheticKeys keys(rules, limits.layout);
  double rate = 0, other = 0;
  for (int round = 0; round < kRounds; ++round)
    rate = std::max(rate, keys.rate(*acl)), other = std::max(other, keys.rate(than));
  choice.why +=
      format("; acl %.3g million a second and %.3f ms a change, beside %.3g", rate / 1e6, 1e3 * seconds, other / 1e6);
  if (limits.changes * seconds > kMaxChanging || rate * kAboutAsFast <= other) return nullptr;
  choice.kind = EngineKind::acl;
  return std::move(acl);
}

namespace {

/** An engine with the rules whose table GPUs can have. */
struct GpuCandidate {
  EngineKind kind{};
  Built built{};
  double change_seconds = 0;  // of one rule
  bool fits() const { return built.engine != nullptr && built.refusal.empty(); }
};

GpuCandidate try_for_gpu(EngineKind kind, std::span<const SetRule> rules, const RuleEngine::Limits& limits,
                         double most_seconds) {
  GpuCandidate result{kind, build_within(most_seconds, kind, rules, limits)};
  Built& built = result.built;
  if (built.engine == nullptr) return result;
  result.change_seconds = kind == EngineKind::tuple ? kGpuPatchSeconds + try_engine(kind, rules, limits).change_seconds
                                                    : built.seconds / changes_at_once(kind);
  const std::string name(name_of(kind));
  if (built.engine->table() == nullptr)
    built.refusal = format("%zu fields beside the 5-tuple are too many for %s", limits.layout.size(), name.c_str());
  else if (limits.changes * result.change_seconds > kMaxChanging)
    built.refusal = format("%s takes %.3g ms a change, and for %g changes a second that may be %.1f ms", name.c_str(),
                           1e3 * result.change_seconds, limits.changes, 1e3 * kMaxChanging / limits.changes);
  return result;
}

}  // namespace

std::unique_ptr<RuleEngine> make_gpu_engine(std::span<const SetRule> rules, const RuleEngine::Limits& limits,
                                            EngineChoice& choice) {
  constexpr double kForEver = std::numeric_limits<double>::infinity();
  GpuCandidate tree = try_for_gpu(EngineKind::hypersplit, rules, limits, kMaxTreeSeconds), tables, vectors;
  std::string beside;
  GpuCandidate* chosen = &tree;
  if (!tree.fits()) {
    tables = try_for_gpu(EngineKind::tuple, rules, limits, kForEver);
    RuleEngine::Limits small = limits;
    if (tables.fits()) small.most_bytes = std::min(limits.most_bytes, kMaxTried);
    vectors = try_for_gpu(EngineKind::bitvector, rules, small, kForEver);
    chosen = tables.fits() ? &tables : &vectors;
    if (tables.fits() && vectors.fits()) {
      const SyntheticKeys keys(rules, limits.layout);
      double by_tables = 0, by_vectors = 0;
      for (int round = 0; round < kRounds; ++round) {
        by_tables = std::max(by_tables, keys.rate(*tables.built.engine));
        by_vectors = std::max(by_vectors, keys.rate(*vectors.built.engine));
      }
      if (by_vectors > kVectorsLead * by_tables) chosen = &vectors;
      beside = format("; on the CPU tuple %.3g and bitvector %.3g million a second", by_tables / 1e6, by_vectors / 1e6);
    }
  }
  std::string refusals, no_tree;
  for (const GpuCandidate* one : {&vectors, &tables})
    if (!one->built.refusal.empty()) refusals += one->built.refusal + "; ";
  if (!tree.built.refusal.empty()) no_tree = "no tree: " + tree.built.refusal;
  if (!chosen->fits())
    throw Error(refusals + no_tree + (tables.built.engine ? "; with DEVICE cpu they can have ENGINE tuple" : ""));
  auto engine = std::move(chosen->built.engine);
  choice = {chosen->kind, refusals + format("%zu rules take %.1f MB, and a change %.3f ms", rules.size(),
                                            static_cast<double>(engine->table()->bytes().size()) / 1e6,
                                            1e3 * chosen->change_seconds)};
  if (chosen != &tables)
    choice.why += format(": all is built anew in %.1f ms, for %u at once", 1e3 * chosen->built.seconds,
                         changes_at_once(chosen->kind));
  choice.why += beside + (no_tree.empty() ? "" : "; " + no_tree);
  return engine;
}

std::string sizes_without_vectors(std::span<const SetRule> rules, const RuleEngine::Limits& limits) {
  std::string text;
  for (const EngineKind kind : {EngineKind::hypersplit, EngineKind::tuple}) {
    const std::string name(name_of(kind));
    text += text.empty() ? "" : "; ";
    try {
      const auto engine = make_engine(kind, limits);
      RuleSet set;
      set.load(std::vector<SetRule>(rules.begin(), rules.end()), *engine);
      text += format("ENGINE %s would need %.1f MB", name.c_str(), static_cast<double>(engine->bytes()) / 1e6);
    } catch (const Error& error) {
      text += "ENGINE " + name + ": " + error.what();
    }
  }
  return text;
}

}  // namespace heddle::classifier
