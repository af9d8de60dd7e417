#include "functions/nids/judge.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/clock.h"
#include "elements/endpoints/from_dpdk_device.h"
#include "elements/endpoints/from_gpu_port.h"
#include "elements/endpoints/kernel_tun.h"
#include "elements/endpoints/socket.h"

namespace heddle::nids {
namespace {

using Verdict = Thresholds::Verdict;

uint64_t time_of(const Packet* packet) {
  if (packet != nullptr && has_capture_info(packet)) return capture_info(packet).timestamp_ns;
  return RouterClock::wall_ns();
}

/** Whether packets come from it of themselves, and are lost if they are not taken soon. */
bool is_port(const Element* element) {
  return dynamic_cast<const FromDPDKDevice*>(element) != nullptr ||
         dynamic_cast<const FromGPUPort*>(element) != nullptr || dynamic_cast<const KernelTun*>(element) != nullptr ||
         dynamic_cast<const Socket*>(element) != nullptr;
}

/** Whether packets come to `element` from a port, which it must not keep waiting. */
bool sees_live_traffic(const Element& element) {
  std::vector<const Element*> reached{&element};
  for (size_t k = 0; k < reached.size(); ++k) {
    if (is_port(reached[k])) return true;
    for (const Element* before : reached[k]->before)
      if (std::ranges::find(reached, before) == reached.end()) reached.push_back(before);
  }
  return false;
}

/** Milliseconds, which go round. */
uint32_t flow_time(uint64_t ns) { return static_cast<uint32_t>(ns / 1000000); }

}  // namespace

void Judge::open(const std::string& path, const Element& element, const Environment& environment, const Judge* former) {
  if (path.empty()) return;
  path_ = path;
  manners_ = {!sees_live_traffic(element), environment.stopping};
  // take_file() brings what can be gone on with.
  if (former != nullptr && former->path_ == path && former->eve_ && former->eve_->can_go_on()) return;
  has_had_file_ = true;
  eve_ = std::make_unique<EveFile>(path, "'" + element.name + "'", environment.threads > 1, manners_);
}

void Judge::take_file(Judge& old) {
  if (path_ != old.path_ || (eve_ && old.eve_)) return;  // or it has one of its own, for the old one's is of no use
  eve_.swap(old.eve_);
  for (Judge* one : {this, &old})
    if (one->eve_) one->eve_->set(one->manners_);
  if (eve_ && !std::exchange(has_had_file_, true)) lost_before_ = eve_->lost();
}

unsigned Judge::judge(RuleTable& table, const Generation& rules, const Packet* packet, const View& view,
                      const Window& window, int thread) {
  const auto& matched = rules.confirm(view, window, thread);
  if (const uint64_t times = rules.take_gave_up(thread)) gave_up_[thread].add(times, 0);
  if (matched.empty()) return 0;
  auto& confirming = rules.confirming[static_cast<size_t>(thread)];
  const uint64_t now_ns = eve_ || rules.has_thresholds || rules.has_bits ? time_of(packet) : 0;
  if (rules.has_bits) apply_bits(table, rules, view, now_ns, confirming);
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
  auto& verdicts = confirming.verdicts;
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

void Judge::note(RuleTable& table, const Generation& rules, const Packet* packet, View& view, bool ahead) {
  if (!rules.asks_flow) return;
  const bool begins = rules.all_of[static_cast<size_t>(view.protocol)];
  view.flow = table.flows().see(view, flow_time(time_of(packet)), begins, ahead);
  if (rules.asks_sent) view.sent = table.flows().sent(view);
}

void Judge::look(RuleTable& table, const Generation& rules, View& view) {
  if (!rules.asks_flow) return;
  view.flow = table.flows().look(view);
  if (rules.asks_sent) view.sent = table.flows().sent(view);
}

void Judge::apply_bits(RuleTable& table, const Generation& rules, const View& view, uint64_t now_ns,
                       Generation::Confirming& confirming) {
  using Kind = BitOption::Kind;
  auto &matched = confirming.hits, &turns = confirming.with_bits;
  turns.clear();
  for (const uint32_t rule : matched)
    if (!rules.rules[rule].bits.empty()) turns.push_back(rule);
  if (turns.empty()) return;
  std::ranges::sort(turns, {}, [&](uint32_t rule) { return rules.rank[rule]; });
  std::optional<Flows::Bits> of_flow;
  if (rules.has_flow_bits) of_flow.emplace(table.flows(), view, flow_time(now_ns));
  const auto holds = [&](const BitOption& option) {
    if (!option.asks()) return true;
    const bool wanted = option.kind == Kind::is_set;
    if (option.of != BitOption::Of::flow) return table.address_bits().is_set(option, view, now_ns) == wanted;
    return of_flow->has_flow() &&
           std::ranges::any_of(option.numbers, [&](uint32_t bit) { return of_flow->is_set(bit) == wanted; });
  };
  for (const uint32_t rule : turns) {
    const auto& bits = rules.rules[rule].bits;
    if (!std::ranges::all_of(bits, holds)) {
      std::erase(matched, rule);
      continue;
    }
    for (const BitOption& option : bits) {
      if (option.asks()) continue;
      if (option.of != BitOption::Of::flow)
        table.address_bits().change(option, view, now_ns);
      else
        of_flow->set(option.numbers[0],
                     option.kind == Kind::set || (option.kind == Kind::toggle && !of_flow->is_set(option.numbers[0])));
    }
  }
}

void Judge::flush() {
  if (eve_) eve_->flush();
}

std::string Judge::close() { return eve_ ? eve_->close() : std::string(); }

}  // namespace heddle::nids
