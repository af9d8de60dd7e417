// Of the classifier's engines. classify-build: what building takes each of them; classify-replace: the memory that it
// takes to replace a whole set. classify-updates: changes from text while another core looks packets up.
// classify-changes: what a change of one rule takes each engine, in sets of 10,000 and 100,000 rules.

#include <atomic>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/bench.h"
#include "core/columns.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/classifier/acl_beside_tables.h"
#include "functions/classifier/auto_engine.h"
#include "functions/classifier/engine.h"
#include "functions/classifier/engines_for_bench.h"

namespace heddle::bench {
namespace {

using namespace engines;

/** Changes of one rule each, from text, in a set of 100,000, while another core looks packets up; and what that costs
 *  it. */
std::vector<Result> updates() {
  const std::vector<Rule> rules = rules_like("acl", 100'000);
  Built built(EngineKind::tuple, rules);
  auto& [engine, set, seconds] = built;
  Keys keys(rules);
  const Actions actions{.read = [](std::string_view) { return std::nullopt; }, .expected = "none", .usual = 0};
  std::mt19937 random(2);
  const auto text_of = [&] {
    const auto byte = [&] { return static_cast<unsigned>(random() & 255); };
    return format("@%u.%u.%u.%u/%u %u.%u.%u.%u/%u 0 : 65535 %u : %u 0x06/0xFF", byte(), byte(), byte(), byte(),
                  16 + byte() % 17, byte(), byte(), byte(), byte(), 16 + byte() % 17, byte(), 255 + byte());
  };
  std::vector<std::string> texts(10'000);
  for (std::string& text : texts) text = text_of();

  std::atomic<bool> ended{false};
  std::atomic<uint64_t> bursts{0};
  const auto change_all = [&] {
    for (const std::string& text : texts) {
      Rule rule;
      parse_rule(text, actions, rule);
      const RuleChange change{static_cast<uint32_t>(random() % 100'000), rule};
      set.change({&change, 1}, *engine);
      if (!engine->has_retired() && !set.has_retired()) continue;
      const uint64_t now = bursts;  // of the reader: once it has ended one more, nobody has what was there before
      while (!ended && bursts < now + 2) std::this_thread::yield();
      engine->reclaim(), set.reclaim();
    }
  };
  std::atomic<double> mpps{0};
  std::thread reader([&] {
    pin_to_core(1);
    while (!ended) mpps = keys.mpps_of(*engine, [&] { bursts.store(bursts + 1, std::memory_order_release); });
  });
  std::vector<double> rates;
  Result result = absolute("classify-updates", "1/s", 20'000, false, kRounds, [&] {
    const double start = seconds_now();
    change_all();
    rates.push_back(mpps);
    return static_cast<double>(texts.size()) / (seconds_now() - start);
  });
  ended = true;
  reader.join();
  result.note =
      format("tuple, 100000 rules like acl; the other core classifies %.1f Mpps meanwhile", percentile(rates, 0.5));
  return {result};
}

/** Seconds to build 50,000 rules, by engine; `auto` tries several and builds the best again. */
std::vector<Result> build() {
  constexpr size_t kCount = 50'000;
  const double figure = core_count() >= 16 ? 5 : 20;
  std::vector<Result> results;
  for (const char* like : {"acl", "fw"}) {
    const std::vector<Rule> rules = rules_like(like, kCount);
    const auto measure = [&](const std::string& kind, const std::function<std::unique_ptr<RuleEngine>()>& make) {
      size_t bytes = 0;
      Result result = absolute(format("classify-build-%s-%s", like, kind.c_str()), "s", figure, true, 1, [&] {
        const auto engine = make();
        RuleSet set;
        const double start = seconds_now();
        set.load(rules, 1, *engine);
        bytes = engine->bytes();
        return seconds_now() - start;
      });
      result.note = format("%zu rules like %s, %d cores, %.0f MB", rules.size(), like, core_count(),
                           static_cast<double>(bytes) / 1e6);
      results.push_back(std::move(result));
    };
    const RuleEngine::Limits limits{kDrop, size_t{4} << 30};
    for (const EngineKind kind : {EngineKind::bitvector, EngineKind::tuple, EngineKind::hypersplit}) {
      const std::string name(name_of(kind));
      try {
        measure(name, [&] { return make_engine(kind, limits); });
      } catch (const Error& error) {
        std::fprintf(stderr, "classify-build-%s-%s: %s\n", like, name.c_str(), error.what());
      }
    }
    measure("auto", [&] { return std::make_unique<AutoEngine>(limits); });
  }
  return results;
}

/** "VmRSS" or "VmHWM" of this process in megabytes; 0 where the kernel does not say. */
double resident_mb(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1)) * 1024 / 1e6;
  return 0;
}

/** Megabytes that the process has at most, beyond what it had, while ENGINE auto replaces a whole set, which lives on
 *  until then. */
std::vector<Result> replace() {
  std::vector<Result> results;
  for (const char* like : {"acl", "fw"})
    for (const auto& [name, count] : {std::pair{"1k", 1000}, std::pair{"10k", 10'000}, std::pair{"50k", 50'000}}) {
      const std::vector<Rule> rules = rules_like(like, static_cast<size_t>(count));
      AutoEngine engine({kDrop, size_t{4} << 30});
      RuleSet set;
      set.load(rules, 1, engine);
      results.push_back(without_target(format("classify-replace-%s-%s", like, name), "MB", 1, [&] {
        engine.reclaim(), set.reclaim();
        const double before = resident_mb("VmRSS");
        std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins here
        set.load(rules, 1, engine);
        return resident_mb("VmHWM") - before;
      }));
      results.back().note = format("%zu rules like %s, whose structure has %.1f MB; %s", rules.size(), like,
                                   static_cast<double>(engine.bytes()) / 1e6, engine.choice().why.c_str());
    }
  return results;
}

/** Milliseconds that a change of one rule takes, from the call until nothing of the set before is left, with the next
 *  one right behind it. An engine that needs more than 4 GB for a set is left out, and so is rte_acl where it would
 *  take long to build. */
std::vector<Result> changes() {
  const RuleEngine::Limits limits{0, size_t{4} << 30};
  const auto named = [&](EngineKind kind) {
    return std::pair{std::string(name_of(kind)), [=] { return make_engine(kind, limits); }};
  };
  using Make = std::function<std::unique_ptr<RuleEngine>()>;
  const std::pair<std::string, Make> engines[] = {named(EngineKind::tuple),
                                                  named(EngineKind::hypersplit),
                                                  named(EngineKind::bitvector),
                                                  {"auto", [&] { return std::make_unique<AutoEngine>(limits); }},
                                                  named(EngineKind::acl),
                                                  {"auto-acl", [&] {
                                                     auto acl = make_engine(EngineKind::acl, limits);
                                                     acl->start();
                                                     return std::make_unique<AclBesideTables>(
                                                         limits, std::move(acl), std::span<const SetRule>());
                                                   }}};
  const std::map<std::string, const char*> how{{"tuple", "in place, on a CPU"},
                                               {"auto", "what auto takes on a CPU without DPDK's ports"},
                                               {"acl", "all is built anew"},
                                               {"auto-acl", "in hash tables beside acl, which is built anew aside"}};
  std::vector<Result> results;
  for (const auto& [name, count, figure] : {std::tuple{"10k", 10'000, 1.0}, std::tuple{"100k", 100'000, 5.0}}) {
    const std::vector<Rule> rules = rules_like("acl", static_cast<size_t>(count));
    for (const auto& [kind, make] : engines) {
      if (kind.ends_with("acl") && rules.size() > kMaxAclRules) continue;
      std::unique_ptr<Built> built;
      try {
        built = std::make_unique<Built>(make(), rules);
      } catch (const Error&) {
        continue;
      }
      double longest = 0;
      const std::string title = format("classify-changes-%s-%s", name, kind.c_str());
      const auto measure = [&] {
        const ChangeTimes times = change_times(*built, rules);
        longest = std::max(longest, times.longest_ms);
        return 1e3 / times.per_second;
      };
      results.push_back(kind == "acl" ? without_target(title, "ms", 1, measure)
                                      : absolute(title, "ms", figure, true, 3, measure));
      const auto known = how.find(kind);
      results.back().note = format("%zu rules like acl, built in %.2f s; the longest change %.3f ms; ", rules.size(),
                                   built->seconds, longest) +
                            (known != how.end() ? known->second : "built anew aside, on the CPU for a GPU, too");
    }
  }
  return results;
}

const Register classify_updates("classify-updates", false, updates), classify_build("classify-build", false, build),
    classify_replace("classify-replace", false, replace), classify_changes("classify-changes", false, changes);

}  // namespace
}  // namespace heddle::bench
