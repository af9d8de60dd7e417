#include "functions/nids/judge.h"

#include <algorithm>

#include "core/clock.h"

namespace heddle::nids {
namespace {

using Verdict = Thresholds::Verdict;

uint64_t time_of(const Packet* packet) {
  if (packet != nullptr && has_capture_info(packet)) return capture_info(packet).timestamp_ns;
  return RouterClock::wall_ns();
}

}  // namespace

void Judge::open(const std::string& path, const std::string& owner, bool shared) {
  eve_ = std::make_unique<EveFile>(path, owner, shared);
}

unsigned Judge::judge(RuleTable& table, const Generation& rules, const Packet* packet, View view, const Window& window,
                      int thread) {
  if (rules.asks_flow) view.flow = note(table, rules, packet, view);
  const auto& matched = rules.confirm(view, window, thread);
  if (const uint64_t times = rules.take_gave_up(thread)) gave_up_[thread].add(times, 0);
  if (matched.empty()) return 0;
  const uint64_t now_ns = eve_ || rules.has_thresholds ? time_of(packet) : 0;
  const auto is = [&](uint32_t rule, Action action) { return rules.rules[rule].action == action; };
  const auto verdict_on = [&](uint32_t rule) {
    const Signature& signature = rules.rules[rule];
    const Verdict verdict = signature.threshold.type == Threshold::Type::none
                                ? Verdict::alert
                                : table.thresholds().judge(signature, view, now_ns);
    return signature.silent ? std::min(verdict, Verdict::silent) : verdict;
  };
  for (const uint32_t rule : matched)
    if (is(rule, Action::pass) && verdict_on(rule) != Verdict::none) return 0;
  auto& verdicts = rules.confirming[static_cast<size_t>(thread)].verdicts;
  verdicts.clear();
  unsigned stops = 0;
  for (const uint32_t rule : matched) {
    verdicts.push_back(is(rule, Action::pass) ? Verdict::none : verdict_on(rule));
    if (verdicts.back() == Verdict::none) continue;
    stops |= is(rule, Action::drop) ? kDrops : is(rule, Action::reject) ? kRejects : 0u;
  }
  uint64_t alerts = 0;
  for (size_t k = 0; k < matched.size(); ++k) {
    if (verdicts[k] != Verdict::alert) continue;
    ++alerts;
    rules.counts[matched[k]]->fetch_add(1, std::memory_order_relaxed);
    if (eve_) eve_->add(now_ns, view, (stops != 0 ? rules.blocked : rules.alerts)[matched[k]]);
  }
  alerts_[thread].add(alerts, 0);
  return stops;
}

uint8_t Judge::note(RuleTable& table, const Generation& rules, const Packet* packet, const View& view) {
  const bool begins = rules.all_of[static_cast<size_t>(view.protocol)];
  return table.flows().see(view, static_cast<uint32_t>(time_of(packet) / 1000000), begins);
}

void Judge::flush() {
  if (eve_) eve_->flush();
}

std::string Judge::close() {
  if (!eve_) return {};
  const std::string problem = eve_->close();
  eve_.reset();
  return problem;
}

}  // namespace heddle::nids
