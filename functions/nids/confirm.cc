#include <algorithm>

#include "click/arguments.h"
#include "core/clock.h"
#include "core/error.h"
#include "functions/nids/nids.h"

namespace heddle {

using namespace nids;

namespace {

using Verdict = Thresholds::Verdict;

enum BlockedReason : int { kDropped, kRejected };
enum ConfirmOutput : uint16_t { kBlockedOutput = 1, kRejectedOutput };

uint64_t time_of(const Packet* packet) {
  if (has_capture_info(packet)) return capture_info(packet).timestamp_ns;
  return RouterClock::wall_ns();
}

}  // namespace

void NIDSConfirm::configure(click::Arguments& arguments) {
  arguments.required("NIDS", nids_name_).keyword("EVE", eve_file_);
}

void NIDSConfirm::link(const Directory& directory) {
  const std::vector<Element*> named = directory(nids_name_);
  nids_ = named.size() == 1 ? dynamic_cast<NIDS*>(named[0]) : nullptr;
  if (nids_ == nullptr) throw Error("NIDS: '" + nids_name_ + "' is not a NIDS of this chain");
}

Access NIDSConfirm::access(Processor) const {
  return {.reads = {kWholePacket}, .column_reads = columns(Column::l3, Column::l4)};
}

std::span<const char* const> NIDSConfirm::drop_reasons() const {
  static constexpr const char* kReasons[] = {"drop", "reject"};
  return kReasons;
}

void NIDSConfirm::start(const Environment& environment) {
  if (!eve_file_.empty()) eve_ = std::make_unique<EveFile>(eve_file_, "'" + name + "'", environment.threads > 1);
}

uint16_t NIDSConfirm::judge(const Generation& rules, const Packet* packet, const View& view, int thread) {
  const auto& matched = rules.confirm(view, thread);
  if (const uint64_t times = rules.take_gave_up(thread)) gave_up_[thread].add(times, 0);
  if (matched.empty()) return kClean;
  const uint64_t now_ns = eve_ || rules.has_thresholds ? time_of(packet) : 0;
  const auto is = [&](uint32_t rule, Action action) { return rules.rules[rule].action == action; };
  const auto verdict_on = [&](uint32_t rule) {
    const Signature& signature = rules.rules[rule];
    if (signature.threshold.type == Threshold::Type::none) return Verdict::alert;
    return nids_->rules().thresholds().judge(signature, view, now_ns);
  };
  for (const uint32_t rule : matched)
    if (is(rule, Action::pass) && verdict_on(rule) != Verdict::none) return kClean;
  auto& verdicts = rules.confirming[static_cast<size_t>(thread)].verdicts;
  verdicts.clear();
  bool dropped = false, rejected = false;
  for (const uint32_t rule : matched) {
    verdicts.push_back(is(rule, Action::pass) ? Verdict::none : verdict_on(rule));
    if (verdicts.back() == Verdict::none) continue;
    dropped = dropped || is(rule, Action::drop), rejected = rejected || is(rule, Action::reject);
  }
  uint64_t alerts = 0;
  for (size_t k = 0; k < matched.size(); ++k) {
    if (verdicts[k] != Verdict::alert) continue;
    ++alerts;
    rules.counts[matched[k]]->fetch_add(1, std::memory_order_relaxed);
    if (eve_) eve_->add(now_ns, view, (dropped || rejected ? rules.blocked : rules.alerts)[matched[k]]);
  }
  alerts_[thread].add(alerts, 0);
  if (!dropped && !rejected) return kClean;
  if (!dropped && outputs > 2) return kRejectedOutput;
  if (outputs > 1) return kBlockedOutput;
  return static_cast<uint16_t>(kDrop | (dropped ? kDropped : kRejected));
}

void NIDSConfirm::run_cpu(Batch& batch) {
  const Generation& rules = nids_->rules().now();
  const uint32_t *l3 = batch.column(Column::l3), *l4 = batch.column(Column::l4);
  for (int i = 0; i < batch.size(); ++i) {
    const Packet* packet = batch.packet(i);
    View view;
    if (!look_at(batch.frame(i), length(packet), l3[i] - packet->data_off, l4[i] - packet->data_off, view)) continue;
    if (const uint16_t next = judge(rules, packet, view, batch.thread); next != kClean) batch.next()[i] = next;
  }
}

void NIDSConfirm::on_timer(int) {
  if (eve_) eve_->flush();
}

std::string NIDSConfirm::stop() {
  if (!eve_) return {};
  const std::string problem = eve_->close();
  eve_.reset();
  return problem;
}

void NIDSConfirm::handlers(Handlers& list) {
  list.read("alerts", [this] { return std::to_string(alerts_.packets()); }).read("lost", [this] {
    return std::to_string(eve_ ? eve_->lost() : 0);
  });
  list.read("gave_up", [this] { return std::to_string(gave_up_.packets()); });
  list.read("forgotten", [this] { return std::to_string(nids_->rules().thresholds().forgotten()); });
}

HEDDLE_ELEMENT(NIDSConfirm);

}  // namespace heddle
