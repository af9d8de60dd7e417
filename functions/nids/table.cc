#include "functions/nids/table.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/error.h"
#include "functions/nids/eve.h"

namespace heddle::nids {

namespace {

/** As Suricata's: pass, drop, reject, alert; of flowbits those that change some, those that ask as well, those that
 *  only ask; of xbits of an address, then of a pair, those that ask; by priority; as they stand. (7.0.10, and its
 *  manual's pages on rules; of xbits the manual says nothing.) */
std::vector<uint32_t> ranks_of(std::span<const Signature> rules) {
  using Of = BitOption::Of;
  const auto uses = [](const Signature& rule, Of first, Of last, bool asks) {
    return std::ranges::any_of(
        rule.bits, [&](const BitOption& bit) { return bit.of >= first && bit.of <= last && bit.asks() == asks; });
  };
  const auto key_of = [&](uint32_t r) {
    constexpr int kTurn[] = {3, 0, 1, 2};  // [Action]
    const Signature& rule = rules[r];
    const bool asks = uses(rule, Of::flow, Of::flow, true), changes = uses(rule, Of::flow, Of::flow, false);
    return std::tuple(kTurn[static_cast<size_t>(rule.action)],
                      changes ? (asks ? 1 : 0)
                      : asks  ? 2
                              : 3,
                      !uses(rule, Of::source, Of::destination, true), !uses(rule, Of::pair, Of::pair, true),
                      rule.priority.value_or(kUsualPriority), r);
  };
  std::vector<uint32_t> order(rules.size()), ranks(rules.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, key_of);
  for (uint32_t k = 0; k < order.size(); ++k) ranks[order[k]] = k;
  return ranks;
}

}  // namespace

Generation::Generation(RuleSet set, bool stream, bool tells)
    : stream(stream),
      rules(std::move(set.rules)),
      unsupported(std::move(set.unsupported)),
      buffers(rules),
      automata(rules, stream, tells) {
  for (const Signature& rule : rules) {
    alerts.push_back(eve_alert(rule, false));
    blocked.push_back(eve_alert(rule, true));
    has_thresholds = has_thresholds || rule.threshold.type != Threshold::Type::none;
    asks_flow = asks_flow || rule.asks_flow() || rule.application != Application::none;  // who is the client
    asks_sent = asks_sent || !rule.sent.empty();
    has_flow_bits = has_flow_bits || rule.has_flow_bits();
    has_bits = has_bits || !rule.bits.empty();
    asks_applications = asks_applications || rule.application != Application::none;
    for (uint32_t p = 0; p < kProtocols; ++p) all_of[p] = all_of[p] || rule.asks_all(static_cast<Protocol>(p));
  }
  if (stream) all_of[static_cast<size_t>(Protocol::tcp)] = true;
  if (has_bits) rank = ranks_of(rules);
}

void Generation::number_bits(const std::function<uint32_t(const BitOption& option, const std::string& name)>& number) {
  for (Signature& rule : rules)
    for (BitOption& option : rule.bits) {
      option.numbers.clear();
      for (const std::string& name : option.names) option.numbers.push_back(number(option, name));
    }
}

void Generation::prepare(int threads, bool scans) {
  if ((scans || std::ranges::find(all_of, true) != std::end(all_of)) && threads > 0 && Scanner::available())
    scanner = std::make_unique<Scanner>(automata.patterns(), threads);
  confirming.resize(static_cast<size_t>(threads));
  for (Confirming& one : confirming)
    one.tried.resize(rules.size()), one.hits.reserve(rules.size()), one.stream_hits.reserve(rules.size()),
        one.with_bits.reserve(rules.size()), one.verdicts.reserve(rules.size());
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
  const auto is_spoken = [&](uint32_t rule) {
    return rules[rule].application == Application::none || rules[rule].application == window.application;
  };
  mine.hits.clear();
  if (!window.alone) each_once(view.payload, mine.hits);
  std::erase_if(mine.hits,
                [&](uint32_t rule) { return !is_spoken(rule) || !matches(rules[rule], view, mine.workspace); });
  if (!window.bytes.empty()) {
    each_once(window.bytes, mine.stream_hits);
    Window of_application = window;
    of_application.fresh = window.fresh_to_it;
    for (const uint32_t rule : mine.stream_hits)
      if (rules[rule].reads_streams() && is_spoken(rule) && std::ranges::find(mine.hits, rule) == mine.hits.end() &&
          matches(rules[rule], view, rules[rule].application == Application::none ? window : of_application,
                  mine.workspace))
        mine.hits.push_back(rule);
  }
  if (window.dialogue != nullptr) {
    buffers.inspect(rules, view, window, mine.buffers, mine.workspace, mine.hits);
    window.dialogue->forget(window.side);
  }
  std::ranges::sort(mine.hits);
  return mine.hits;
}

void RuleTable::load(RuleSet set, bool stream, bool tells) {
  auto made = std::make_unique<Generation>(std::move(set), stream, tells);
  made->prepare(threads_, scans_);
  for (const Signature& rule : made->rules) made->counts.push_back(&counts_[{rule.generator, rule.sid}]);
  if (made->asks_flow && !flows_) flows_ = std::make_unique<Flows>();
  if (made->asks_sent) flows_->follow_sent();
  if (made->has_bits) number_bits(*made);
  now_.store(made.get(), std::memory_order_release);
  std::swap(current_, made);
  if (made == nullptr) return;
  retired_.push_back(std::move(made));
  replaced();
}

void RuleTable::number_bits(Generation& rules) {
  if (!address_bits_) address_bits_ = std::make_unique<Thresholds>();
  rules.number_bits([&](const BitOption& option, const std::string& name) {
    if (option.of == BitOption::Of::flow) return flows_->number_of_bit(name);
    const auto next = static_cast<uint32_t>(address_bit_names_.size()) + 1;
    return address_bit_names_.emplace(std::pair(option.of == BitOption::Of::pair, name), next).first->second;
  });
}

uint64_t RuleTable::forgotten() const {
  return thresholds_.forgotten() + (address_bits_ ? address_bits_->forgotten() : 0);
}

void RuleTable::swap_flows(RuleTable& other) {
  if (!flows_ || !other.flows_ || !flows_->has_numbers_for(other.current_->rules) ||
      !other.flows_->has_numbers_for(current_->rules))
    return;
  flows_->swap(*other.flows_);
  for (RuleTable* table : {this, &other}) {
    if (table->current_->asks_sent) table->flows_->follow_sent();
    if (table->current_->has_bits) table->number_bits(*table->current_);
  }
}

void RuleTable::prepare(int threads, bool scans) {
  threads_ = threads, scans_ = scans;
  current_->prepare(threads, scans);
}

std::string RuleTable::counts_text() const {
  std::string text;
  for (const auto& [id, count] : counts_) {
    if (id.first != 1) text += format("%u:", id.first);
    text += format("%u %llu\n", id.second, static_cast<unsigned long long>(count.load(std::memory_order_relaxed)));
  }
  return text;
}

}  // namespace heddle::nids
