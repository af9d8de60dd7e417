#include "functions/classifier/acl_engine.h"

#include <arpa/inet.h>
#include <rte_acl.h>
#include <rte_errno.h>

#include <bit>
#include <cstddef>

#include "core/error.h"
#include "io/dpdk/dpdk.h"

namespace heddle::classifier {
namespace {

constexpr int kGroup = 64;

/** What rte_acl reads, in network byte order: the first byte of the input must be one field. */
struct AclKey {
  uint8_t protocol, unused[3];
  uint32_t source, destination;
  uint16_t source_port, destination_port;
};
RTE_ACL_RULE_DEF(AclRule, kFields);

AclRule acl_rule(const SetRule& rule, uint32_t place) {
  const Key &low = rule.rule.low, &high = rule.rule.high;
  AclRule result{};
  result.data = {
      .category_mask = 1, .priority = RTE_ACL_MAX_PRIORITY - static_cast<int32_t>(place), .userdata = place + 1};
  result.field[0].value.u8 = static_cast<uint8_t>(low[kProtocol]);
  result.field[0].mask_range.u8 = static_cast<uint8_t>(high[kProtocol]);
  for (const Field f : {kSource, kDestination}) {
    const uint32_t host = low[f] ^ high[f];
    if ((host & (host + 1)) != 0 || (low[f] & host) != 0)
      throw Error(format("rule %u: its %s is no prefix, which rte_acl needs; use ENGINE bitvector or tuple",
                         rule.number, kFieldNames[f]));
    result.field[1 + f].value.u32 = low[f];
    result.field[1 + f].mask_range.u32 = 32 - static_cast<uint32_t>(std::bit_width(host));
  }
  for (const Field f : {kSourcePort, kDestinationPort}) {
    result.field[1 + f].value.u16 = static_cast<uint16_t>(low[f]);
    result.field[1 + f].mask_range.u16 = static_cast<uint16_t>(high[f]);
  }
  return result;
}

std::string unique_name() {
  static std::atomic<unsigned> count{0};
  return "heddle_acl_" + std::to_string(count++);
}

}  // namespace

struct AclEngine::Set {
  ~Set() { rte_acl_free(context); }
  rte_acl_ctx* context = nullptr;  // null: no rules
  std::vector<Outcome> outcomes;   // by what rte_acl gives; [0]: no rule
};

AclEngine::AclEngine(const Limits& limits) : limits_(limits) {
  if (!limits.layout.empty())
    throw Error("rte_acl is given the 5-tuple only, and the rules ask for " + name_of(limits.layout.front()) +
                " as well; use ENGINE bitvector or tuple");
}
AclEngine::~AclEngine() = default;

std::unique_ptr<AclEngine::Set> AclEngine::build(std::span<const SetRule> rules) const {
  auto set = std::make_unique<Set>();
  set->outcomes.push_back({kNoRule, kNoId, limits_.no_match});
  if (rules.empty()) return set;
  std::vector<AclRule> acl_rules;
  acl_rules.reserve(rules.size());
  for (const SetRule& rule : rules) {
    acl_rules.push_back(acl_rule(rule, static_cast<uint32_t>(acl_rules.size())));
    set->outcomes.push_back({rule.number, rule.id, rule.rule.next});
  }
  const auto check = [&](int result, const char* what) {
    if (result != 0)
      throw Error(
          format("%zu rules: %s: %s. rte_acl cannot hold them in DPDK's memory (--dpdk \"-m MEGABYTES\") or in "
                 "MEMORY, %zu MB; or use ENGINE tuple",
                 rules.size(), what, rte_strerror(-result), limits_.most_bytes >> 20));
  };
  const std::string name = unique_name();
  const rte_acl_param parameters{name.c_str(), SOCKET_ID_ANY, RTE_ACL_RULE_SZ(kFields),
                                 static_cast<uint32_t>(rules.size())};
  set->context = rte_acl_create(&parameters);
  check(set->context == nullptr ? -rte_errno : 0, "rte_acl_create");
  check(rte_acl_add_rules(set->context, reinterpret_cast<rte_acl_rule*>(acl_rules.data()),
                          static_cast<uint32_t>(acl_rules.size())),
        "rte_acl_add_rules");
  rte_acl_config config{};
  config.num_categories = 1;
  config.num_fields = kFields;
  config.defs[0] = {RTE_ACL_FIELD_TYPE_RANGE, 1, 0, 0, offsetof(AclKey, protocol)};
  config.defs[1] = {RTE_ACL_FIELD_TYPE_MASK, 4, 1, 1, offsetof(AclKey, source)};
  config.defs[2] = {RTE_ACL_FIELD_TYPE_MASK, 4, 2, 2, offsetof(AclKey, destination)};
  config.defs[3] = {RTE_ACL_FIELD_TYPE_RANGE, 2, 3, 3, offsetof(AclKey, source_port)};
  config.defs[4] = {RTE_ACL_FIELD_TYPE_RANGE, 2, 4, 3, offsetof(AclKey, destination_port)};
  config.max_size = limits_.most_bytes;
  check(rte_acl_build(set->context, &config), "rte_acl_build");
  return set;
}

void AclEngine::load(std::span<const SetRule> rules) {
  if (!started_) {
    waiting_.assign(rules.begin(), rules.end());
    return;
  }
  auto set = build(rules);
  std::swap(set_, set);
  current_.store(set_.get(), std::memory_order_release);
  if (set != nullptr) retired_.push_back(std::move(set));
}

void AclEngine::start() {
  if (started_) return;
  if (!dpdk::wanted()) dpdk::start_eal({"-m", "1024"}, 1);
  started_ = true;
  load(std::exchange(waiting_, {}));
}

void AclEngine::classify(const uint32_t* const* keys, Outcome* outcomes, int n) const {
  const Set* set = current_.load(std::memory_order_acquire);
  if (set == nullptr || set->context == nullptr) {
    std::fill_n(outcomes, n, Outcome{kNoRule, kNoId, limits_.no_match});
    return;
  }
  AclKey acl_keys[kGroup];
  const uint8_t* pointers[kGroup];
  uint32_t places[kGroup];
  for (int base = 0; base < n; base += kGroup) {
    const int count = std::min(kGroup, n - base);
    for (int i = 0; i < count; ++i) {
      const int k = base + i;
      acl_keys[i] = {static_cast<uint8_t>(keys[kProtocol][k]),
                     {},
                     htonl(keys[kSource][k]),
                     htonl(keys[kDestination][k]),
                     htons(static_cast<uint16_t>(keys[kSourcePort][k])),
                     htons(static_cast<uint16_t>(keys[kDestinationPort][k]))};
      pointers[i] = reinterpret_cast<const uint8_t*>(&acl_keys[i]);
    }
    rte_acl_classify(set->context, pointers, places, static_cast<uint32_t>(count), 1);
    for (int i = 0; i < count; ++i) outcomes[base + i] = set->outcomes[places[i]];
  }
}

void AclEngine::reclaim() { retired_.clear(); }

size_t AclEngine::bytes() const { return set_ == nullptr ? 0 : set_->outcomes.size() * sizeof(Outcome); }

}  // namespace heddle::classifier
