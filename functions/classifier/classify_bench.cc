// classify-1k, classify-16k: the engine that BitVectorClassifier takes for so many rules against DPDK's rte_acl_classify() with
// the same rules and keys, on one core: filters generated like ClassBench's access lists and firewalls, keys at the corners of
// their rules (80 %) and anywhere. Every rule that rte_acl finds is compared. classify-500k: half a million rules.
// classify-engines: all engines at all sizes. classify-changes: what a change of one rule takes each engine that changes on a GPU as
// well, and hash tables, in sets of 10,000 and 100,000 rules.

#include <arpa/inet.h>
#include <rte_acl.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "bench/bench.h"
#include "bench/probe.h"
#include "core/columns.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/classifier/engine.h"
#include "functions/classifier/rule_file.h"
#include "functions/classifier/rule_set.h"
#include "functions/classifier/table.h"
#include "functions/classifier/tuple_engine.h"
#include "io/dpdk/dpdk.h"
#include "measure/generate/filter_set.h"

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
    std::vector<AclRule> acl_rules;
    for (uint32_t number = 0; number < rules.size(); ++number) acl_rules.push_back(acl_rule(rules[number], number));
    if (rte_acl_add_rules(context_, reinterpret_cast<rte_acl_rule*>(acl_rules.data()),
                          static_cast<uint32_t>(acl_rules.size())) != 0)
      throw Error("rte_acl_add_rules failed");
    rte_acl_config config{};
    config.num_categories = 1;
    config.num_fields = kFields;
    config.defs[0] = {RTE_ACL_FIELD_TYPE_BITMASK, 1, 0, 0, offsetof(AclKey, protocol)};
    config.defs[1] = {RTE_ACL_FIELD_TYPE_MASK, 4, 1, 1, offsetof(AclKey, source)};
    config.defs[2] = {RTE_ACL_FIELD_TYPE_MASK, 4, 2, 2, offsetof(AclKey, destination)};
    config.defs[3] = {RTE_ACL_FIELD_TYPE_RANGE, 2, 3, 3, offsetof(AclKey, source_port)};
    config.defs[4] = {RTE_ACL_FIELD_TYPE_RANGE, 2, 4, 3, offsetof(AclKey, destination_port)};
    if (rte_acl_build(context_, &config) != 0) throw Error("rte_acl_build failed");
  }
  ~Acl() { rte_acl_free(context_); }
  Acl(const Acl&) = delete;
  Acl& operator=(const Acl&) = delete;

  /** results[i] = number of the rule that keys[i] hits, from 1; 0: none. */
  void classify(const uint8_t** keys, uint32_t* results, uint32_t n) const {
    rte_acl_classify(context_, keys, results, n, 1);
  }

 private:
  static AclRule acl_rule(const Rule& rule, uint32_t number) {
    AclRule result{};
    result.data = {
        .category_mask = 1, .priority = RTE_ACL_MAX_PRIORITY - static_cast<int32_t>(number), .userdata = number + 1};
    result.field[0].value.u8 = static_cast<uint8_t>(rule.low[kProtocol]);
    result.field[0].mask_range.u8 = rule.low[kProtocol] == rule.high[kProtocol] ? 0xff : 0;
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

std::vector<Rule> rules_like(const char* like, size_t count) {
  const Actions actions{.read = [](std::string_view) { return std::nullopt; }, .expected = "none", .usual = 0};
  std::vector<std::string> errors;
  return parse_rules(like, to_text(generate_filters(parameters_like(like), {.count = count})), actions, errors);
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
      const uint32_t* const columns[kFields] = {&fields_[0][at], &fields_[1][at], &fields_[2][at], &fields_[3][at],
                                                &fields_[4][at]};
      engine.classify(columns, &ours[at], kBurst);
      between();
    });
  }
  double mpps_of(const Acl& acl) {
    return rate([&](size_t at) { acl.classify(&pointers_[at], &theirs[at], kBurst); });
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
  template <class Classify>
  static double rate(const Classify& classify) {
    const double start = seconds_now();
    for (size_t at = 0; at < kKeys; at += kBurst) classify(at);
    return kKeys / (seconds_now() - start) * 1e-6;
  }

  std::vector<uint32_t> fields_[kFields];
  std::vector<AclKey> acl_keys_;
  std::vector<const uint8_t*> pointers_;
};

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

/** What ENGINE auto takes, against rte_acl. */
std::vector<Result> classify(const char* size, size_t count, double target) {
  pin_to_core(1);
  std::vector<Result> results;
  for (const char* like : {"acl", "fw"}) {
    const std::vector<Rule> rules = rules_like(like, count);
    const EngineKind kind = choose_engine(numbered(rules), {kDrop, size_t{4} << 30, {}}).kind;
    const Built ours(kind, rules);
    const Acl acl(rules);
    Keys keys(rules);
    results.push_back(paired(
        format("classify-%s-%s", size, like), "Mpps", target, kRounds, [&] { return keys.mpps_of(*ours.engine); },
        [&] { return keys.mpps_of(acl); }));
    keys.compare();
    results.back().note = std::string(name_of(kind)) + ", " + ours.note(rules.size(), like, keys.hits());
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

/** Changes of one rule each, from text, in a set of 100,000, while another core looks packets up; and what that costs it. */
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

/** Milliseconds that a change of one rule takes, from the call until nothing of the set before is left, with the next one right behind it.
 *  An engine that needs more than 4 GB for a set is left out. */
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
  const std::string like = parameters.text("like", "acl", {"acl", "fw", "ipc"});
  const auto count = static_cast<size_t>(parameters.number("rules", 1000, 1, 1'000'000));
  parameters.expect_all_used();
  pin_to_core(1);
  const std::vector<Rule> rules = rules_like(like.c_str(), count);
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

const Register classify_1k("classify-1k", false, [] { return classify("1k", 1000, 0.5); }),
    classify_16k("classify-16k", false, [] { return classify("16k", 16000, 0); }),
    classify_500k_("classify-500k", false, classify_500k), classify_updates("classify-updates", false, updates),
    classify_engines("classify-engines", false, engines), classify_changes("classify-changes", false, changes);

}  // namespace
}  // namespace heddle::bench
