// classify-1k, classify-16k: BitVectorClassifier's lookups against DPDK's rte_acl_classify() with the same rules and keys, on
// one core: filters generated like ClassBench's access lists and firewalls, keys at the corners of their rules (80 %) and
// anywhere. Every rule that rte_acl finds is compared.

#include <arpa/inet.h>
#include <rte_acl.h>

#include <cstring>
#include <memory>
#include <random>

#include "bench/bench.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/classifier/rule_file.h"
#include "functions/classifier/table.h"
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
    dpdk::start_eal({}, 1);
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

Result against_rte_acl(const std::string& name, const char* like, size_t count, double target) {
  pin_to_core(1);
  const std::vector<Rule> rules = rules_like(like, count);
  const std::vector<Key> keys = keys_for(rules);
  BitVectorTable table;
  table.load(rules, 0, size_t{8} << 30);
  const Acl acl(rules);

  std::vector<uint32_t> fields[kFields], ours(kKeys), theirs(kKeys);
  std::vector<AclKey> acl_keys;
  std::vector<const uint8_t*> pointers;
  for (const Key& key : keys) {
    for (size_t f = 0; f < kFields; ++f) fields[f].push_back(key[f]);
    acl_keys.push_back({static_cast<uint8_t>(key[kProtocol]),
                        {},
                        htonl(key[kSource]),
                        htonl(key[kDestination]),
                        htons(static_cast<uint16_t>(key[kSourcePort])),
                        htons(static_cast<uint16_t>(key[kDestinationPort]))});
  }
  for (const AclKey& key : acl_keys) pointers.push_back(reinterpret_cast<const uint8_t*>(&key));

  const auto rate = [](const auto& classify) {
    const double start = seconds_now();
    for (int at = 0; at < kKeys; at += kBurst) classify(at);
    return kKeys / (seconds_now() - start) * 1e-6;
  };
  const auto run_ours = [&] {
    return rate([&](int at) {
      const uint32_t* const columns[kFields] = {
          &fields[0][static_cast<size_t>(at)], &fields[1][static_cast<size_t>(at)], &fields[2][static_cast<size_t>(at)],
          &fields[3][static_cast<size_t>(at)], &fields[4][static_cast<size_t>(at)]};
      lookup_bulk(table.image(), columns, &ours[static_cast<size_t>(at)], kBurst);
    });
  };
  const auto run_theirs = [&] {
    return rate(
        [&](int at) { acl.classify(&pointers[static_cast<size_t>(at)], &theirs[static_cast<size_t>(at)], kBurst); });
  };
  Result result = paired(name, "Mpps", target, kRounds, run_ours, run_theirs);
  size_t hits = 0;
  for (size_t i = 0; i < kKeys; ++i) {
    if (ours[i] + 1 != theirs[i])
      throw Error(format("key %zu hits rule %d, rte_acl says %d", i, static_cast<int>(ours[i]),
                         static_cast<int>(theirs[i]) - 1));
    hits += theirs[i] != 0 ? 1 : 0;
  }
  result.note = format("%zu rules like %s, %.0f %% hits, %.0f MB", rules.size(), like,
                       100 * static_cast<double>(hits) / kKeys, static_cast<double>(table.bytes().size()) / 1e6);
  return result;
}

std::vector<Result> classify(const char* size, size_t count, double target) {
  std::vector<Result> results;
  for (const char* like : {"acl", "fw"})
    results.push_back(against_rte_acl(format("classify-%s-%s", size, like), like, count, target));
  return results;
}

const Register classify_1k("classify-1k", false, [] { return classify("1k", 1000, 0.5); }),
    classify_16k("classify-16k", false, [] { return classify("16k", 16000, 0); });

}  // namespace
}  // namespace heddle::bench
