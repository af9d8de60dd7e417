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

/** Those of `rules` that nothing can match go; each is narrowed by one of the alternatives. */
std::vector<Rule> narrowed(const std::vector<Rule>& rules, const Term& term) {
  std::vector<Rule> result;
  for (const Rule& rule : rules)
    for (const Alternative& alternative : term) {
      Rule next = rule;
      if (std::ranges::all_of(alternative, [&](const Condition& condition) { return narrow(next, condition); }))
        result.push_back(std::move(next));
      if (result.size() > kMostAlternatives)
        throw Error(format("it would be more than %zu rules; take it apart", kMostAlternatives));
    }
  return result;
}

/** The first fragment is asked for in vain where later ones do not match anyway. */
void drop_implied_guard(Rule& rule) {
  if (!takes_zeros(rule)) std::erase(rule.more, kFirstFragment);
}

}  // namespace

std::vector<Term> negation(const Term& term) {
  std::vector<Term> result;
  for (const Alternative& alternative : term) {
    Term differs;
    for (const Condition& condition : alternative) {
      if (condition.place == kIpVersion && alternative.size() > 1) {
        result.push_back({{condition}});
        continue;
      }
      for (const Condition& other : negated(condition)) differs.push_back({other});
    }
    result.push_back(differs);
  }
  return result;
}

void Matches::add(const Term& term, bool negate) {
  if (!negate) return terms.push_back(term);
  for (Term& each : negation(term)) terms.push_back(std::move(each));
}

std::vector<Rule> Matches::rules(uint16_t next) const {
  std::vector<Rule> rules(1);
  for (const Term& term : terms) rules = narrowed(rules, term);
  std::vector<Rule> result;
  for (Rule& rule : rules) {
    rule.next = next;
    if (!transport || !takes_zeros(rule) || family == 6) {
      drop_implied_guard(rule);
      result.push_back(rule);
      continue;
    }
    if (family == 4) {
      if (narrow(rule, kFirstFragment)) result.push_back(rule);
      continue;
    }
    Rule ip4 = rule, ip6 = rule;
    if (narrow(ip4, kIsIp4) && narrow(ip4, kFirstFragment)) result.push_back(ip4);
    if (narrow(ip6, kIsIp6)) result.push_back(ip6);
  }
  return result;
}

}  // namespace heddle::classifier
