#include "convert/rules/terms.h"

#include <algorithm>

#include "core/error.h"

namespace heddle::classifier {
namespace {

bool is_port(const Place& place) { return place == place_of(kSourcePort) || place == place_of(kDestinationPort); }

/** Whether a packet without a transport header matches, whose ports and other bytes count as 0. */
bool takes_zeros(const Rule& rule) {
  if (rule.low[kSourcePort] > 0 || rule.low[kDestinationPort] > 0) return false;
  return std::ranges::all_of(rule.more, [](const Condition& condition) {
    return (condition.place.kind != Place::transport && !is_port(condition.place)) || condition.holds(0);
  });
}

/** Prefixes that are the range together. */
std::vector<Condition> prefixes_of(const Condition& range) {
  std::vector<Condition> result;
  for (uint64_t low = range.low; low <= range.high;) {
    uint64_t host = 0;  // as many bits as the address and what is left allow
    while ((low & (2 * host + 1)) == 0 && low + 2 * host + 1 <= range.high) host = 2 * host + 1;
    result.push_back({range.place, range.mask, static_cast<uint32_t>(low), static_cast<uint32_t>(low + host)});
    low += host + 1;
  }
  return result;
}

/** The rule narrowed by the condition: none, one, or where one of the two asks for a range and the other for bits of
 *  the same field, one for each prefix of the range. */
std::vector<Rule> narrowed(const Rule& rule, const Condition& condition) {
  const Condition asked = canonical(condition);
  const auto before = std::ranges::find(rule.more, asked.place, &Condition::place);
  const bool conflict =
      before != rule.more.end() && (before->mask == asked.place.largest()) != (asked.mask == asked.place.largest());
  std::vector<Rule> result;
  const auto add = [&](Rule next, std::initializer_list<Condition> conditions) {
    if (std::ranges::all_of(conditions, [&](const Condition& one) { return narrow(next, one); }))
      result.push_back(std::move(next));
  };
  if (!conflict) {
    add(rule, {asked});
  } else if (before->mask == asked.place.largest()) {
    Rule rest = rule;
    std::erase(rest.more, *before);
    for (const Condition& prefix : prefixes_of(*before)) add(rest, {prefix, asked});
  } else {
    for (const Condition& prefix : prefixes_of(asked)) add(rule, {prefix});
  }
  return result;
}

/** The rules narrowed by one of the alternatives each; `steps` counts on. */
std::vector<Rule> narrowed(const std::vector<Rule>& rules, const Term& term, size_t& steps) {
  std::vector<Rule> result;
  const size_t most = std::max({kMaxAlternatives, rules.size(), term.size()});  // a long set by itself is no product
  for (const Rule& rule : rules)
    for (const Alternative& alternative : term) {
      std::vector<Rule> some{rule};
      ++steps;
      for (const Condition& condition : alternative) {
        if (rules.size() > 1 || some.size() > 1) steps += some.size();
        if (steps > kMaxSteps) refuse_as_too_many();
        std::vector<Rule> next;
        for (const Rule& one : some)
          for (Rule& narrower : narrowed(one, condition)) next.push_back(std::move(narrower));
        some.swap(next);
        if (result.size() + some.size() > most) refuse_as_too_many();
      }
      if (steps > kMaxSteps || result.size() + some.size() > most) refuse_as_too_many();
      result.insert(result.end(), some.begin(), some.end());
    }
  return result;
}

/** What a rule asks for, the version first: an address has a meaning only with it. */
Alternative conditions_of(const Rule& rule) {
  Alternative conditions;
  for (const Condition& condition : rule.more)
    if (condition.place == kIpVersion) conditions.push_back(condition);
  for (int f = 0; f < kFields; ++f)
    if (rule.low[f] > 0 || rule.high[f] < kLargest[f])
      conditions.push_back(range_of(place_of(static_cast<Field>(f)), rule.low[f], rule.high[f]));
  for (const Condition& condition : rule.more)
    if (condition.place != kIpVersion) conditions.push_back(condition);
  return conditions;
}

/** What the rule does not match, in parts of which no two match one packet. */
Term rest_of(const Rule& rule) {
  Term rest;
  Alternative held;  // the conditions before
  for (const Condition& condition : conditions_of(rule)) {
    const bool is_version = condition == kIsIp4 || condition == kIsIp6;
    for (const Condition& other :
         is_version ? Alternative{condition == kIsIp4 ? kIsIp6 : kIsIp4} : negated(condition)) {
      rest.push_back(held);
      rest.back().push_back(other);
    }
    held.push_back(condition);
  }
  return rest;
}

/** The first fragment is asked for in vain where later ones do not match anyway. */
void drop_implied_guard(Rule& rule) {
  if (!takes_zeros(rule)) std::erase(rule.more, kFirstFragment);
}

}  // namespace

void refuse_as_too_many() {
  throw Error(format("is not supported: it would be more than %zu rules, or take too long to find out; take it apart",
                     kMaxAlternatives));
}

void bytes_for_ports(Alternative& conditions) {
  for (Condition& condition : conditions)
    for (const Field port : {kSourcePort, kDestinationPort})
      if (condition.place == place_of(port))
        condition.place = {Place::transport, 2, static_cast<uint16_t>(port == kSourcePort ? 0 : 2)};
}

std::vector<Term> negation(const Term& term) {
  std::vector<Term> result;
  for (const Alternative& alternative : term) {
    Term differs;
    Alternative held;  // the conditions before, if what is left of several alternatives is not to match twice
    for (const Condition& condition : alternative) {
      if (condition.place == kIpVersion && alternative.size() > 1) {
        result.push_back({{condition}});
        continue;
      }
      for (const Condition& other : negated(condition)) {
        differs.push_back(held);
        differs.back().push_back(other);
      }
      if (term.size() > 1) held.push_back(condition);
    }
    result.push_back(differs);
  }
  return result;
}

void Matches::add(const Term& term, bool negate) {
  if (!negate) return terms.push_back(term);
  for (Term& each : negation(term)) terms.push_back(std::move(each));
}

void Matches::look_at_bytes_where_no_ports_are() {
  const auto names_them = [](const Condition& condition) {
    if (condition.place != place_of(kProtocol) || condition.mask != 255) return false;
    uint32_t protocol = condition.low;
    while (protocol <= condition.high && names_ports(protocol)) ++protocol;
    return protocol > condition.high;
  };
  const auto all_name_them = [&](const Term& term) {
    return std::ranges::all_of(term, [&](const Alternative& one) { return std::ranges::any_of(one, names_them); });
  };
  if (std::ranges::any_of(terms, all_name_them)) return;
  for (Term& term : terms)
    for (Alternative& one : term) bytes_for_ports(one);
}

std::vector<Rule> Matches::rules(uint16_t next) const {
  size_t steps = 0;
  return rules(next, {Rule{}}, steps);
}

std::vector<Rule> Matches::rules(uint16_t next, const std::vector<Rule>& within, size_t& steps) const {
  std::vector<Rule> rules = within;
  for (const bool several : {false, true})  // what narrows without more rules comes first
    for (const Term& term : terms)
      if ((term.size() > 1) == several) rules = narrowed(rules, term, steps);
  std::vector<Rule> result;
  const auto add = [&](Rule rule, std::initializer_list<Condition> conditions) {
    if (std::ranges::all_of(conditions, [&](const Condition& one) { return narrow(rule, one); }))
      result.push_back(std::move(rule));
  };
  for (Rule& rule : rules) {
    rule.next = next;
    if (!transport || !takes_zeros(rule) || family == 6) {
      drop_implied_guard(rule);
      add(rule, {});
    } else if (family == 4) {
      add(rule, {kFirstFragment});
    } else {
      add(rule, {kIsIp4, kFirstFragment});
      add(rule, {kIsIp6});
    }
  }
  for (const Rule& rule : result) check_count(rule.more.size());
  return result;
}

std::vector<Rule> without(const std::vector<Rule>& packets, const std::vector<Rule>& taken) {
  std::vector<Rule> result = packets;
  size_t steps = 0;
  for (const Rule& rule : taken) result = narrowed(result, rest_of(rule), steps);
  for (const Rule& rule : result) check_count(rule.more.size());
  return result;
}

}  // namespace heddle::classifier
