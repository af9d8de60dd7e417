#pragma once

#include <arpa/inet.h>
#include <rte_acl.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/bench.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/classifier/engine.h"
#include "functions/classifier/rule_file.h"
#include "functions/classifier/rule_set.h"
#include "functions/classifier/tuple_engine.h"
#include "io/dpdk/dpdk.h"
#include "measure/generate/filter_set.h"
#include "measure/generate/random_rules.h"

/** Rules, keys and engines of the classifier's benchmarks, and rte_acl beside them. */
namespace heddle::bench::engines {

using namespace classifier;

inline constexpr int kKeys = 1 << 16, kBurst = 64, kRounds = 11;

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
inline std::unique_ptr<Acl> make_acl(const std::vector<Rule>& rules, std::string& note) {
  constexpr double kMaxSeconds = 4;
  double start = seconds_now();
  try {
    if (rules.size() >= 4000) Acl({rules.begin(), rules.begin() + static_cast<std::ptrdiff_t>(rules.size() / 4)});
    if (const double seconds = seconds_now() - start; seconds > kMaxSeconds) {
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
inline std::vector<Rule> rules_like(const std::string& like, size_t count) {
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

inline std::vector<Key> keys_for(const std::vector<Rule>& rules) {
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
inline Result without_target(const std::string& name, const std::string& unit, int rounds,
                             const std::function<double()>& measure) {
  Result result = absolute(name, unit, 1, false, rounds, measure);
  result.baseline = result.ratio = result.low = result.high = result.target = 0;
  return result;
}

struct Built {
  Built(EngineKind kind, const std::vector<Rule>& rules, size_t most_bytes = size_t{16} << 30)
      : Built(make_engine(kind, {0, most_bytes}), rules) {}
  Built(std::unique_ptr<RuleEngine> made, const std::vector<Rule>& rules) : engine(std::move(made)) {
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

/** Changes of one rule each, one behind the other, of a set that nobody looks at. */
struct ChangeTimes {
  double per_second, longest_ms;
};
inline ChangeTimes change_times(Built& built, const std::vector<Rule>& rules) {
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

}  // namespace heddle::bench::engines
