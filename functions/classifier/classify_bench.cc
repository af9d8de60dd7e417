// classify-1k, classify-16k: the engine that BitVectorClassifier takes for so many rules against DPDK's
// rte_acl_classify() with the same rules and keys, on one core: filters generated like ClassBench's access lists and
// firewalls, keys at the corners of their rules (80 %) and anywhere. Every rule that rte_acl finds is compared.
// classify-500k: half a million rules. Random rules (random_rules.h) have prefixes of any length, which rte_acl may not
// build; `octets` are the same with prefixes of 8, 16, 24 or 32 bits. classify-cores: all cores of the machine at once.
// classify-build: what building takes each engine; classify-replace: the memory that it takes to replace a whole set.
// classify-engines: all engines at all sizes. classify-changes: what a change of one rule takes each engine that
// changes on a GPU as well, and hash tables, in sets of 10,000 and 100,000 rules.

#include <arpa/inet.h>
#include <rte_acl.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "bench/bench.h"
#include "bench/probe.h"
#include "core/columns.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/classifier/auto_engine.h"
#include "functions/classifier/engine.h"
#include "functions/classifier/rule_file.h"
#include "functions/classifier/rule_set.h"
#include "functions/classifier/table.h"
#include "functions/classifier/tuple_engine.h"
#include "io/dpdk/dpdk.h"
#include "measure/generate/filter_set.h"
#include "measure/generate/random_rules.h"

namespace heddle::bench {
namespace {

using namespace classifier;

constexpr int kKeys = 1 << 16, kBurst = 64, kRounds = 11;

/** What rte_acl reads, in network byte order: the first byte of the input must be one field. */
struct AclKey {
  uint8_t protocol, unused[3];
  uint32_t source, destination;
  uint16_t source_port, destination_port;
};
RTE_ACL_RULE_DEF(AclRule, kFields);

/** An rte_acl with these rules; which field of AclRule is which is up to `config`. */
class Acl {
 public:
  explicit Acl(const std::vector<Rule>& rules) {
    dpdk::start_eal({"-m", "2048"}, 1);
    const rte_acl_param parameters{"classify", 0, RTE_ACL_RULE_SZ(kFields), static_cast<uint32_t>(rules.size())};
    context_ = rte_acl_create(&parameters);
    if (context_ == nullptr) throw Error("rte_acl_create failed");
    try {
      build(rules);
    } catch (...) {
      rte_acl_free(context_);
      throw;
    }
  }
  ~Acl() { rte_acl_free(context_); }
  Acl(const Acl&) = delete;
  Acl& operator=(const Acl&) = delete;

  /** results[i] = number of the rule that keys[i] hits, from 1; 0: none. */
  void classify(const uint8_t** keys, uint32_t* results, uint32_t n) const {
    rte_acl_classify(context_, keys, results, n, 1);
  }

 private:
  void build(const std::vector<Rule>& rules) {
    std::vector<AclRule> acl_rules;
    for (uint32_t number = 0; number < rules.size(); ++number) acl_rules.push_back(acl_rule(rules[number], number));
    if (rte_acl_add_rules(context_, reinterpret_cast<rte_acl_rule*>(acl_rules.data()),
                          static_cast<uint32_t>(acl_rules.size())) != 0)
      throw Error("rte_acl_add_rules failed");
    rte_acl_config config{};
    config.num_categories = 1;
    config.num_fields = kFields;
    config.defs[0] = {RTE_ACL_FIELD_TYPE_RANGE, 1, 0, 0, offsetof(AclKey, protocol)};
    config.defs[1] = {RTE_ACL_FIELD_TYPE_MASK, 4, 1, 1, offsetof(AclKey, source)};
    config.defs[2] = {RTE_ACL_FIELD_TYPE_MASK, 4, 2, 2, offsetof(AclKey, destination)};
    config.defs[3] = {RTE_ACL_FIELD_TYPE_RANGE, 2, 3, 3, offsetof(AclKey, source_port)};
    config.defs[4] = {RTE_ACL_FIELD_TYPE_RANGE, 2, 4, 3, offsetof(AclKey, destination_port)};
    if (rte_acl_build(context_, &config) != 0) throw Error("rte_acl_build failed");
  }
  static AclRule acl_rule(const Rule& rule, uint32_t number) {
    AclRule result{};
    result.data = {
        .category_mask = 1, .priority = RTE_ACL_MAX_PRIORITY - static_cast<int32_t>(number), .userdata = number + 1};
    result.field[0].value.u8 = static_cast<uint8_t>(rule.low[kProtocol]);
    result.field[0].mask_range.u8 = static_cast<uint8_t>(rule.high[kProtocol]);
    for (const Field f : {kSource, kDestination}) {
      result.field[1 + f].value.u32 = rule.low[f];
      result.field[1 + f].mask_range.u32 = 32 - static_cast<uint32_t>(std::bit_width(rule.low[f] ^ rule.high[f]));
    }
    for (const Field f : {kSourcePort, kDestinationPort}) {
      result.field[1 + f].value.u16 = static_cast<uint16_t>(rule.low[f]);
      result.field[1 + f].mask_range.u16 = static_cast<uint16_t>(rule.high[f]);
    }
    return result;
  }

  rte_acl_ctx* context_;
};

/** rte_acl with these rules; null if it does not build them in its memory, or a quarter of them takes so long that it
 *  were to take minutes. Adds why to `note`. */
std::unique_ptr<Acl> make_acl(const std::vector<Rule>& rules, std::string& note) {
  constexpr double kMostSeconds = 4;
  double start = seconds_now();
  try {
    if (rules.size() >= 4000) Acl({rules.begin(), rules.begin() + static_cast<std::ptrdiff_t>(rules.size() / 4)});
    if (const double seconds = seconds_now() - start; seconds > kMostSeconds) {
      note += format("; no rte_acl: a quarter of the rules takes %.1f s to build", seconds);
      return nullptr;
    }
    start = seconds_now();
    auto acl = std::make_unique<Acl>(rules);
    note += format("; rte_acl built in %.2f s", seconds_now() - start);
    return acl;
  } catch (const Error& error) {
    note += format("; no rte_acl: %s after %.1f s", error.what(), seconds_now() - start);
    return nullptr;
  }
}

/** "acl", "fw", "ipc": filters generated like those; "random", "octets": see above. */
std::vector<Rule> rules_like(const std::string& like, size_t count) {
  const Actions actions{.read = [](std::string_view) { return std::nullopt; }, .expected = "none", .usual = 0};
  std::vector<std::string> errors;
  const bool random = like == "random" || like == "octets";
  auto rules = parse_rules(
      like, random ? random_rules(count, 1) : to_text(generate_filters(parameters_like(like), {.count = count})),
      actions, errors);
  if (like == "octets")
    for (Rule& rule : rules)
      for (const Field f : {kSource, kDestination}) {
        const int host = std::bit_width(rule.low[f] ^ rule.high[f]) / 8 * 8;
        const auto mask = static_cast<uint32_t>((uint64_t{1} << host) - 1);
        rule.low[f] &= ~mask, rule.high[f] = rule.low[f] | mask;
      }
  return rules;
}

std::vector<Key> keys_for(const std::vector<Rule>& rules) {
  std::mt19937 random(1);
  std::vector<Key> keys(kKeys);
  for (Key& key : keys) {
    const Rule& rule = rules[random() % rules.size()];
    const bool inside = random() % 5 != 0;
    for (size_t f = 0; f < kFields; ++f)
      key[f] = (!inside             ? static_cast<uint32_t>(random())
                : random() % 2 == 0 ? rule.low[f]
                                    : rule.high[f]) &
               kLargest[f];
  }
  return keys;
}

/** Keys as both sides want them, and what both have found. */
class Keys {
 public:
  explicit Keys(const std::vector<Rule>& rules) : ours(kKeys), theirs(kKeys) {
    for (const Key& key : keys_for(rules)) {
      for (size_t f = 0; f < kFields; ++f) fields_[f].push_back(key[f]);
      acl_keys_.push_back({static_cast<uint8_t>(key[kProtocol]),
                           {},
                           htonl(key[kSource]),
                           htonl(key[kDestination]),
                           htons(static_cast<uint16_t>(key[kSourcePort])),
                           htons(static_cast<uint16_t>(key[kDestinationPort]))});
    }
    for (const AclKey& key : acl_keys_) pointers_.push_back(reinterpret_cast<const uint8_t*>(&key));
  }

  double mpps_of(const RuleEngine& engine) {
    return mpps_of(engine, [] {});
  }
  /** The same; calls `between` after each burst. */
  template <class Between>
  double mpps_of(const RuleEngine& engine, const Between& between) {
    return rate([&](size_t at) {
      classify(engine, at);
      between();
    });
  }
  double mpps_of(const Acl& acl) {
    return rate([&](size_t at) { acl.classify(&pointers_[at], &theirs[at], kBurst); });
  }
  /** All cores at once, each with its own part of the keys, over and over. */
  double mpps_of_all_cores(const RuleEngine& engine) {
    return rate_of_all_cores([&](size_t at) { classify(engine, at); });
  }
  double mpps_of_all_cores(const Acl& acl) {
    return rate_of_all_cores([&](size_t at) { acl.classify(&pointers_[at], &theirs[at], kBurst); });
  }
  void compare() const {
    for (size_t i = 0; i < kKeys; ++i)
      if (ours[i].number + 1 != theirs[i])
        throw Error(format("key %zu hits rule %d, rte_acl says %d", i, static_cast<int>(ours[i].number),
                           static_cast<int>(theirs[i]) - 1));
  }
  double hits() const {
    return static_cast<double>(std::ranges::count_if(ours, [](const Outcome& one) { return one.id != kNoId; })) / kKeys;
  }

  std::vector<Outcome> ours;
  std::vector<uint32_t> theirs;

 private:
  void classify(const RuleEngine& engine, size_t at) {
    const uint32_t* const columns[kFields] = {&fields_[0][at], &fields_[1][at], &fields_[2][at], &fields_[3][at],
                                              &fields_[4][at]};
    engine.classify(columns, &ours[at], kBurst);
  }
  template <class Classify>
  static double rate(const Classify& classify) {
    const double start = seconds_now();
    for (size_t at = 0; at < kKeys; at += kBurst) classify(at);
    return kKeys / (seconds_now() - start) * 1e-6;
  }
  template <class Classify>
  static double rate_of_all_cores(const Classify& classify) {
    constexpr double kSeconds = 0.1;
    const auto cores = static_cast<size_t>(core_count());
    const size_t part = kKeys / kBurst / cores * kBurst;
    if (part == 0) throw Error(format("%zu cores have no burst each", cores));
    std::atomic<size_t> ready{0};
    std::vector<double> rates(cores);
    std::vector<std::thread> threads;
    for (size_t core = 0; core < cores; ++core)
      threads.emplace_back([&, core] {
        pin_to_core(static_cast<int>(core));
        const auto pass = [&] {
          for (size_t at = core * part; at < (core + 1) * part; at += kBurst) classify(at);
        };
        pass();
        for (++ready; ready < cores;) std::this_thread::yield();
        size_t passes = 0;
        const double start = seconds_now();
        double now = start;
        for (; now < start + kSeconds; ++passes, now = seconds_now()) pass();
        rates[core] = static_cast<double>(passes * part) / (now - start) * 1e-6;
      });
    for (std::thread& thread : threads) thread.join();
    return std::accumulate(rates.begin(), rates.end(), 0.0);
  }

  std::vector<uint32_t> fields_[kFields];
  std::vector<AclKey> acl_keys_;
  std::vector<const uint8_t*> pointers_;
};

/** A figure that nothing is asked of. */
Result without_target(const std::string& name, const std::string& unit, int rounds,
                      const std::function<double()>& measure) {
  Result result = absolute(name, unit, 1, false, rounds, measure);
  result.baseline = result.ratio = result.low = result.high = result.target = 0;
  return result;
}

struct Built {
  Built(EngineKind kind, const std::vector<Rule>& rules, size_t most_bytes = size_t{16} << 30)
      : engine(make_engine(kind, {0, most_bytes})) {
    const double start = seconds_now();
    set.load(rules, 1, *engine);
    engine->start();
    seconds = seconds_now() - start;
  }
  std::string note(size_t rules, const char* like, double hits) const {
    const auto* tuple = dynamic_cast<const TupleEngine*>(engine.get());
    return format("%zu rules like %s, %.0f %% hits, %.0f MB, built in %.2f s", rules, like, 100 * hits,
                  static_cast<double>(engine->bytes()) / 1e6, seconds) +
           (tuple == nullptr ? "" : format(", %zu tables", tuple->tables()));
  }
  std::unique_ptr<RuleEngine> engine;
  RuleSet set;
  double seconds;
};

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

/** Every engine at every size. Each is compared with the one that choose_engine() takes. */
std::vector<Result> engines() {
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

/** Changes of one rule each, one behind the other, of a set that nobody looks at. */
struct ChangeTimes {
  double per_second, longest_ms;
};
ChangeTimes change_times(Built& built, const std::vector<Rule>& rules) {
  constexpr double kSeconds = 0.5;
  std::mt19937 random(3);
  const double start = seconds_now();
  size_t done = 0;
  double longest = 0;
  for (double last = start; last < start + kSeconds; ++done) {
    const RuleChange change{static_cast<uint32_t>(random() % rules.size()), rules[random() % rules.size()]};
    built.set.change({&change, 1}, *built.engine);
    if (built.engine->has_retired() || built.set.has_retired()) built.engine->reclaim(), built.set.reclaim();
    const double before = std::exchange(last, seconds_now());
    longest = std::max(longest, last - before);
  }
  return {static_cast<double>(done) / (seconds_now() - start), 1e3 * longest};
}

/** Milliseconds that a change of one rule takes, from the call until nothing of the set before is left, with the next
 *  one right behind it. An engine that needs more than 4 GB for a set is left out. */
std::vector<Result> changes() {
  std::vector<Result> results;
  for (const auto& [name, count, figure] : {std::tuple{"10k", 10'000, 1.0}, std::tuple{"100k", 100'000, 5.0}}) {
    const std::vector<Rule> rules = rules_like("acl", static_cast<size_t>(count));
    for (const EngineKind kind : {EngineKind::tuple, EngineKind::hypersplit, EngineKind::bitvector}) {
      std::unique_ptr<Built> built;
      try {
        built = std::make_unique<Built>(kind, rules, size_t{4} << 30);
      } catch (const Error&) {
        continue;
      }
      double longest = 0;
      results.push_back(absolute(format("classify-changes-%s-%s", name, std::string(name_of(kind)).c_str()), "ms",
                                 figure, true, 3, [&] {
                                   const ChangeTimes times = change_times(*built, rules);
                                   longest = std::max(longest, times.longest_ms);
                                   return 1e3 / times.per_second;
                                 }));
      results.back().note = format("%zu rules like acl, built in %.2f s; the longest change %.3f ms; ", rules.size(),
                                   built->seconds, longest) +
                            (kind == EngineKind::tuple ? "CPU only" : "built anew aside, on the CPU for a GPU, too");
    }
  }
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
  EngineKind kind = choose_engine(numbered(rules), {kDrop, size_t{4} << 30, {}}).kind;
  for (const EngineKind one : {EngineKind::bitvector, EngineKind::tuple, EngineKind::acl, EngineKind::hypersplit})
    if (name_of(one) == name) kind = one;
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
    classify_500k_("classify-500k", false, classify_500k), classify_updates("classify-updates", false, updates),
    classify_engines("classify-engines", false, engines), classify_cores("classify-cores", false, cores),
    classify_build("classify-build", false, build), classify_replace("classify-replace", false, replace),
    classify_changes("classify-changes", false, changes);

}  // namespace
}  // namespace heddle::bench
