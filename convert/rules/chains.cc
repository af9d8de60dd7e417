#include "convert/rules/chains.h"

#include <algorithm>

#include "core/error.h"
#include "core/text_file.h"

namespace heddle::classifier {

namespace {
constexpr size_t kStepsOfLine = 16;  // at least, for a line that is come to by a jump
bool may_be_ip6(const Rule& rule) { return std::ranges::find(rule.more, kIsIp4) == rule.more.end(); }
}  // namespace

bool is_on_way(const std::string& hook, const std::string& other) {
  const auto among = [&](std::initializer_list<const char*> hooks) {
    return std::ranges::find(hooks, other) != hooks.end();
  };
  if (hook == "input") return among({"ingress", "prerouting", "input"});
  if (hook == "output") return among({"output", "postrouting", "egress"});
  return among({"ingress", "prerouting", "forward", "postrouting", "egress"});
}

size_t ChainReader::read(const std::string& chain) {
  walk(chain, {Rule{}});
  for (const auto& [line, is_rule] : of_jumps_)
    if (!is_rule) list_.unreached.push_back(chains_.number(line.first, line.second));
  std::ranges::sort(list_.unreached);
  list_.left_out += silent_.size();
  size_t lines = 0;
  for (const std::string& one : seen_) lines += chains_.lines(one);
  return lines;
}

void ChainReader::walk(const std::string& chain, Rules here) {
  path_.push_back(chain);
  seen_.insert(chain);
  for (size_t i = 0; i < chains_.lines(chain); ++i) {
    const Line at{chain, i};
    try {
      if (!is_first_chain() && (steps_ += kStepsOfLine) > kMaxSteps) refuse_as_too_many();
      follow(at, chains_.read(chain, i), here);
    } catch (const Error& error) {
      refuse(at, error.what());
    }
  }
  path_.pop_back();
}

void ChainReader::follow(const Line& at, const ChainLine& line, Rules& here) {
  size_t own_steps = 0;
  Rules packets;
  if (line.then != ChainLine::Then::nothing)
    packets = line.matches.rules(line.verdict, here, is_first_chain() ? own_steps : steps_);
  if (line.matches.by_protocol && line.matches.family != 4 && std::ranges::any_of(packets, may_be_ip6))
    list_.by_protocol.insert(chains_.number(at.first, at.second));
  switch (line.then) {
    case ChainLine::Then::nothing:
      silent_.insert(at);
      break;
    case ChainLine::Then::verdict:
      if (line.answers) list_.answered.insert(chains_.number(at.first, at.second));
      add(at, std::move(packets));
      break;
    case ChainLine::Then::jump:
      jump(line.to, packets);
      break;
    case ChainLine::Then::goes:
      jump(line.to, packets);
      leave(at, packets, here);
      break;
    case ChainLine::Then::returns:
      leave(at, packets, here);
      break;
  }
}

void ChainReader::jump(const std::string& to, const Rules& packets) {
  if (std::ranges::find(path_, to) != path_.end())
    throw Error("is not a rule: the chain " + in_quotes(to) + " leads back to itself");
  if (path_.size() == kMaxDepth)
    throw Error(format("is not supported: it is the last of more than %zu jumps on from each other", kMaxDepth - 1));
  if (packets.empty() && seen_.contains(to)) return;
  walk(to, packets);
}

/** The packets see no more of this chain. */
void ChainReader::leave(const Line& at, const Rules& packets, Rules& here) {
  if (!is_first_chain() || !list_.policy) {
    here = without(here, packets);
    return;
  }
  Rules rest = packets;
  for (Rule& rule : rest) rule.next = *list_.policy;
  add(at, std::move(rest));
}

void ChainReader::add(const Line& at, Rules rules) {
  const size_t number = chains_.number(at.first, at.second);
  if (!is_first_chain()) {
    bool& is_rule = of_jumps_[at];
    is_rule = is_rule || !rules.empty();
    if (rules.empty()) return;
  }
  add_rules(list_, std::move(rules), number);
}

void ChainReader::refuse(const Line& at, const std::string& reason) {
  if (!refused_.insert(at).second) return;
  const std::string problem = in_quotes(chains_.text(at.first, at.second)) + " " + as_problem(reason);
  const size_t number = chains_.number(at.first, at.second);
  if (skip_unsupported_ && as_problem(reason).starts_with("is not supported"))
    list_.skipped.push_back({number, problem, chains_.may_drop(at.first, at.second)});
  else
    mistakes_.add(number, problem);
}

}  // namespace heddle::classifier
