// classify-1k, classify-16k: the engine that BitVectorClassifier takes for so many rules against DPDK's
// rte_acl_classify() with the same rules and keys, on one core: filters generated like ClassBench's access lists and
// firewalls, keys at the corners of their rules (80 %) and anywhere. Every rule that rte_acl finds is compared.
// classify-500k: half a million rules. Random rules (random_rules.h) have prefixes of any length, which rte_acl may not
// build; `octets` are the same with prefixes of 8, 16, 24 or 32 bits. classify-cores: all cores of the machine at once.
// classify-engines: all engines at all sizes. classify-auto: ENGINE auto against the best of them, to 500,000 rules.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "bench/probe.h"
#include "core/columns.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/classifier/auto_engine.h"
#include "functions/classifier/engine.h"
#include "functions/classifier/engines_for_bench.h"
#include "functions/classifier/table.h"
#include "io/dpdk/dpdk.h"

namespace heddle::bench {
namespace {

using namespace engines;

/** What ENGINE auto takes, against rte_acl; `random_target` is that for random rules. */
std::vector<Result> classify(const char* size, size_t count, double target, double random_target) {
  pin_to_core(1);
  std::vector<Result> results;
  for (const char* like : {"acl", "fw", "random", "octets"}) {
    const bool random = std::string_view(like) == "random" || std::string_view(like) == "octets";
    const std::vector<Rule> rules = rules_like(like, count);
    const EngineKind kind = choose_engine(numbered(rules), {kDrop, size_t{4} << 30, {}}).kind;
    const Built ours(kind, rules);
    Keys keys(rules);
    std::string of_acl;
    const auto acl = make_acl(rules, of_acl);
    const auto measure = [&] { return keys.mpps_of(*ours.engine); };
    const std::string name = format("classify-%s-%s", size, like);
    if (acl != nullptr) {
      results.push_back(
          paired(name, "Mpps", random ? random_target : target, kRounds, measure, [&] { return keys.mpps_of(*acl); }));
      keys.compare();
    } else {
      results.push_back(without_target(name, "Mpps", kRounds, measure));
    }
    results.back().note = std::string(name_of(kind)) + ", " + ours.note(rules.size(), like, keys.hits()) + of_acl;
  }
  return results;
}

/** rte_acl on all cores of the machine at once, beside what ENGINE auto takes and bit vectors: what a GPU is to be
 *  compared with. */
std::vector<Result> cores() {
  std::vector<Result> results;
  for (const char* like : {"acl", "fw", "random", "octets"}) {
    bool acl_builds = true;
    for (const size_t count : {1000u, 4000u, 16'000u}) {
      const std::vector<Rule> rules = rules_like(like, count);
      const EngineKind chosen = choose_engine(numbered(rules), {kDrop, size_t{4} << 30, {}}).kind;
      Keys keys(rules);
      std::string of_acl = "; no rte_acl: it did not build fewer";
      std::unique_ptr<Acl> acl;
      if (acl_builds) of_acl.clear(), acl = make_acl(rules, of_acl);
      acl_builds = acl != nullptr;
      std::vector<EngineKind> kinds{chosen};
      if (chosen != EngineKind::bitvector) kinds.push_back(EngineKind::bitvector);
      for (const EngineKind kind : kinds) {
        const Built ours(kind, rules);
        const std::string name = format("classify-cores-%s-%zu-%s", like, count, std::string(name_of(kind)).c_str());
        const auto measure = [&] { return keys.mpps_of_all_cores(*ours.engine); };
        if (acl != nullptr)
          results.push_back(paired(name, "Mpps", 0, 5, measure, [&] { return keys.mpps_of_all_cores(*acl); }));
        else
          results.push_back(without_target(name, "Mpps", 5, measure));
        results.back().note = format("%d cores, ", core_count()) + (kind == chosen ? "ENGINE auto's choice, " : "") +
                              ours.note(rules.size(), like, keys.hits()) + of_acl;
      }
    }
  }
  return results;
}

/** 500,000 rules, which rte_acl does not build in the memory of this machine: against the figure that was asked for. */
std::vector<Result> classify_500k() {
  pin_to_core(1);
  std::vector<Result> results;
  for (const char* like : {"acl", "fw"}) {
    const std::vector<Rule> rules = rules_like(like, 500'000);
    const EngineKind kind = choose_engine(numbered(rules), {kDrop, size_t{4} << 30, {}}).kind;
    const Built ours(kind, rules);
    Keys keys(rules);
    results.push_back(absolute(format("classify-500k-%s", like), "Mpps", 2, false, kRounds,
                               [&] { return keys.mpps_of(*ours.engine); }));
    results.back().note = std::string(name_of(kind)) + ", " + ours.note(rules.size(), like, keys.hits());
  }
  return results;
}

/** Every engine at every size. Each is compared with the one that choose_engine() takes. */
std::vector<Result> engines_by_size() {
  pin_to_core(1);
  std::vector<Result> results;
  for (const char* like : {"acl", "fw"})
    for (const size_t count : {64u, 256u, 1000u, 2000u, 4000u, 8000u, 16'000u}) {
      const std::vector<Rule> rules = rules_like(like, count);
      const EngineKind chosen = choose_engine(numbered(rules), {kDrop, size_t{4} << 30, {}}).kind;
      const Built best(chosen, rules);
      Keys keys(rules);
      for (const EngineKind kind :
           {EngineKind::bitvector, EngineKind::acl, EngineKind::tuple, EngineKind::hypersplit}) {
        if (kind == chosen) continue;
        if (kind == EngineKind::acl && count > 4000) continue;  // built in up to half a minute
        const Built other(kind, rules);
        results.push_back(paired(
            format("classify-engines-%s-%zu-%s", like, count, std::string(name_of(kind)).c_str()), "Mpps", 0, 5,
            [&] { return keys.mpps_of(*other.engine); }, [&] { return keys.mpps_of(*best.engine); }));
        results.back().note =
            "against " + std::string(name_of(chosen)) + "; " + other.note(rules.size(), like, keys.hits());
      }
    }
  return results;
}

/** ENGINE auto, as a chain with DPDK's ports has it, against the best of all engines that have the rules. */
std::vector<Result> automatic() {
  const RuleEngine::Limits limits{kDrop, size_t{4} << 30};
  dpdk::request_port("net_null0");  // without one auto does not try rte_acl
  dpdk::start_eal({"-m", "2048"}, 1);
  pin_to_core(1);
  std::vector<Result> results;
  for (const char* like : {"acl", "fw", "random"})
    for (const size_t count : {64u, 256u, 1000u, 4000u, 16'000u, 64'000u, 500'000u}) {
      const std::vector<Rule> rules = rules_like(like, count);
      Keys keys(rules);
      AutoEngine chosen(limits);
      RuleSet set;
      set.load(rules, 1, chosen);
      chosen.start();
      std::unique_ptr<Built> best;
      double fastest = 0;
      std::string best_name, without;
      for (const EngineKind kind :
           {EngineKind::bitvector, EngineKind::acl, EngineKind::tuple, EngineKind::hypersplit}) {
        const std::string name(name_of(kind));
        std::string why;
        if (kind == EngineKind::acl && make_acl(rules, why) == nullptr) {
          without += why;
          continue;
        }
        try {
          auto one = std::make_unique<Built>(kind, rules, limits.most_bytes);
          std::vector<double> rates;
          for (int round = 0; round < 5; ++round) rates.push_back(keys.mpps_of(*one->engine));
          if (const double rate = percentile(rates, 0.5); rate > fastest)
            fastest = rate, best = std::move(one), best_name = name;
        } catch (const Error& error) {
          without += "; no " + name + ": " + error.what();
        }
      }
      results.push_back(paired(
          format("classify-auto-%s-%zu", like, count), "Mpps", 0.95, kRounds, [&] { return keys.mpps_of(chosen); },
          [&] { return keys.mpps_of(*best->engine); }));
      results.back().note = std::string(name_of(chosen.choice().kind)) + ", against " + best_name + without;
    }
  dpdk::close_ports();
  return results;
}

/** One engine with so many rules on one core. A set that it refuses has the value `refused`, and no rate. */
std::vector<Probe::Value> engine_probe(Probe::Parameters& parameters) {
  const std::string name = parameters.text("engine", "auto", {"auto", "bitvector", "tuple", "acl", "hypersplit"});
  const std::string like = parameters.text("like", "acl", {"acl", "fw", "ipc", "random"});
  const auto count = static_cast<size_t>(parameters.number("rules", 1000, 1, 1'000'000));
  parameters.expect_all_used();
  pin_to_core(1);
  const std::vector<Rule> rules = rules_like(like, count);
  std::optional<EngineKind> named;
  for (const EngineKind one : {EngineKind::bitvector, EngineKind::tuple, EngineKind::acl, EngineKind::hypersplit})
    if (name_of(one) == name) named = one;
  const EngineKind kind = named ? *named : choose_engine(numbered(rules), {kDrop, size_t{4} << 30, {}}).kind;
  std::unique_ptr<Built> built;
  try {
    built = std::make_unique<Built>(kind, rules);
  } catch (const Error&) {
    return {{"refused", "1", 1}};
  }
  Keys keys(rules);
  double best = 0;
  for (int round = 0; round < kRounds; ++round) best = std::max(best, keys.mpps_of(*built->engine));
  const double megabytes = static_cast<double>(built->engine->bytes()) / 1e6;
  return {{"mpps", "Mpps", best},
          {"hits", "1", keys.hits()},
          {"megabytes", "MB", megabytes},
          {"build_seconds", "s", built->seconds},
          {"updates", "1/s", change_times(*built, rules).per_second}};
}

const RegisterProbe classifier_probe("classifier", engine_probe);

const Register classify_1k("classify-1k", false, [] { return classify("1k", 1000, 0.5, 0.5); }),
    classify_16k("classify-16k", false, [] { return classify("16k", 16000, 0, 1); }),
    classify_500k_("classify-500k", false, classify_500k), classify_engines("classify-engines", false, engines_by_size),
    classify_cores("classify-cores", false, cores), classify_auto("classify-auto", false, automatic);

}  // namespace
}  // namespace heddle::bench
