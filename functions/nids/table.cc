#include "functions/nids/table.h"

#include <algorithm>

#include "core/error.h"
#include "functions/nids/eve.h"

namespace heddle::nids {

Generation::Generation(RuleSet set, bool stream, bool tells)
    : stream(stream),
      rules(std::move(set.rules)),
      unsupported(std::move(set.unsupported)),
      automata(rules, stream, tells) {
  for (const Signature& rule : rules) {
    alerts.push_back(eve_alert(rule, false));
    blocked.push_back(eve_alert(rule, true));
    has_thresholds = has_thresholds || rule.threshold.type != Threshold::Type::none;
    asks_flow = asks_flow || rule.asks_flow();
    for (uint32_t p = 0; p < kProtocols; ++p) all_of[p] = all_of[p] || rule.asks_all(static_cast<Protocol>(p));
  }
  if (stream) all_of[static_cast<size_t>(Protocol::tcp)] = true;
}

void Generation::prepare(int threads, bool scans) {
  if ((scans || std::ranges::find(all_of, true) != std::end(all_of)) && threads > 0 && Scanner::available())
    scanner = std::make_unique<Scanner>(automata.patterns(), threads);
  confirming.resize(static_cast<size_t>(threads));
  for (Confirming& one : confirming)
    one.tried.resize(rules.size()), one.hits.reserve(rules.size()), one.stream_hits.reserve(rules.size()),
        one.verdicts.reserve(rules.size());
}

const std::vector<uint32_t>& Generation::confirm(const View& view, const Window& window, int thread) const {
  Confirming& mine = confirming[static_cast<size_t>(thread)];
  const PortGroup& group = automata.group_of(view);
  const bool looks = scanner && all_of[static_cast<size_t>(view.protocol)];  // most have no pattern
  const auto each_once = [&](std::span<const uint8_t> text, std::vector<uint32_t>& hits) {
    if (++mine.packet == 0) std::ranges::fill(mine.tried, 0), mine.packet = 1;
    hits.clear();
    const auto offer = [&](uint32_t rule) {
      if (std::exchange(mine.tried[rule], mine.packet) != mine.packet) hits.push_back(rule);
    };
    for (const uint32_t rule : automata.always(view.protocol)) offer(rule);
    if (!looks || scanner->finds(group.number, text, thread)) automata.each_hit(group, text, offer);
  };
  each_once(view.payload, mine.hits);
  std::erase_if(mine.hits, [&](uint32_t rule) { return !matches(rules[rule], view, mine.workspace); });
  if (!window.bytes.empty()) {
    each_once(window.bytes, mine.stream_hits);
    for (const uint32_t rule : mine.stream_hits)
      if (rules[rule].reads_streams() && std::ranges::find(mine.hits, rule) == mine.hits.end() &&
          matches(rules[rule], view, window, mine.workspace))
        mine.hits.push_back(rule);
  }
  std::ranges::sort(mine.hits);
  return mine.hits;
}

void RuleTable::load(RuleSet set, bool stream, bool tells) {
  auto made = std::make_unique<Generation>(std::move(set), stream, tells);
  made->prepare(threads_, scans_);
  for (const Signature& rule : made->rules) made->counts.push_back(&counts_[rule.sid]);
  if (made->asks_flow && !flows_) flows_ = std::make_unique<Flows>();
  now_.store(made.get(), std::memory_order_release);
  std::swap(current_, made);
  if (made == nullptr) return;
  retired_.push_back(std::move(made));
  replaced();
}

void RuleTable::prepare(int threads, bool scans) {
  threads_ = threads, scans_ = scans;
  current_->prepare(threads, scans);
}

std::string RuleTable::counts_text() const {
  std::string text;
  for (const auto& [sid, count] : counts_)
    text += format("%u %llu\n", sid, static_cast<unsigned long long>(count.load(std::memory_order_relaxed)));
  return text;
}

}  // namespace heddle::nids
