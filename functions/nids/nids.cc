#include "functions/nids/nids.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "click/arguments.h"
#include "core/error.h"
#include "core/load.h"
#include "core/mistakes.h"
#include "core/text_file.h"
#include "core/warnings.h"
#include "functions/nids/rule_file.h"

namespace heddle {

using namespace nids;

RuleSet NIDS::read_rules(std::vector<std::string>& errors) const {
  Variables variables;
  if (!variables_file_.empty()) {
    const RuleSet none =
        parse_rules(variables_file_, read_text_file(variables_file_, "file of variables"), false, variables, errors);
    if (!none.rules.empty())
      errors.push_back(
          format("%s:%zu: VARIABLES has rules; they belong into RULES", variables_file_.c_str(), none.rules[0].line));
  }
  RuleSet set = read_rule_file(file_, skip_unsupported_, variables, errors);
  if (!stream_) refuse_streams(set, errors);
  if (!skip_unsupported_ && !set.unsupported.empty())
    errors.push_back(
        format("%s: SKIP_UNSUPPORTED true here, or --skip-unsupported of run and check, leaves out what is "
               "not supported: %zu of its rules",
               file_.c_str(), set.unsupported.size()));
  if (!classification_file_.empty())
    classify(set.rules, parse_classification(classification_file_,
                                             read_text_file(classification_file_, "classification file"), errors));
  if (!monitors()) return set;
  const auto stops = [](const Signature& rule) { return rule.action == Action::drop || rule.action == Action::reject; };
  if (const auto first = std::ranges::find_if(set.rules, stops); first != set.rules.end())
    errors.push_back(
        format("%s:%zu: %s: %s (and %td other rules that do so) stops packets, but no output 1 is connected, so these "
               "go on before they are judged; let it be an alert, or lead output 1 to a NIDSConfirm, which cannot be "
               "between GPU ports",
               file_.c_str(), first->line, first->name().c_str(), first->action == Action::drop ? "drop" : "reject",
               std::count_if(first + 1, set.rules.end(), stops)));
  return set;
}

void NIDS::refuse_streams(RuleSet& set, std::vector<std::string>& errors) const {
  Mistakes mistakes(file_, errors);
  std::erase_if(set.rules, [&](const Signature& rule) {
    const bool of_application = rule.application != Application::none;
    if (rule.streams != Signature::Streams::only && !of_application) return false;
    const char* const why =
        of_application ? "it is for an application protocol: give the NIDS STREAM true"
                       : "it is for TCP connections as a whole (tcp-stream, only_stream): give the NIDS STREAM true";
    const std::string text = rule.name() + ": " + why;
    set.unsupported.push_back({rule.line, rule.name(), why, format("%s:%zu: ", file_.c_str(), rule.line) + text});
    if (!skip_unsupported_) mistakes.add(rule.line, text);
    return true;
  });
}

void NIDS::load(RuleSet set) {
  if (const size_t n = set.unsupported.size(); n > 0)
    warn(format("heddle: warning: NIDS '%s' leaves out %zu rule%s of '%s':\n", name.c_str(), n, n == 1 ? "" : "s",
                file_.c_str()) +
         summary_of(set.unsupported));
  if (!set.outdated.empty())
    warn("heddle: warning: NIDS '" + name +
         "' leaves out, for later ones with the same gid and sid and a higher rev, " +
         text_of(set.outdated.size(), set.outdated[0]) + " of '" + file_ + "'");
  if (const std::string unset = unset_bits(set.rules); !unset.empty())
    warn("heddle: warning: NIDS '" + name + "': no rule of '" + file_ + "' sets " + unset);
  if (const std::string tagging = tagging_rules(set.rules); !tagging.empty())
    warn("heddle: warning: NIDS '" + name + "': by tag, " + tagging + " of '" + file_ +
         "' ask for packets behind a match to be logged, which is not done; their alerts are written");
  count_ = set.rules.size(), unsupported_ = set.unsupported.size();
  rules_.load(std::move(set), stream_, monitors());
  groups_ = rules_.now().automata.group_count();
}

void NIDS::configure(click::Arguments& arguments) {
  arguments.required("RULES", file_)
      .keyword("VARIABLES", variables_file_)
      .keyword("CLASSIFICATION", classification_file_)
      .keyword("SKIP_UNSUPPORTED", skip_unsupported_)
      .keyword("STREAM", stream_)
      .keyword("EVE", eve_file_);
  if (monitors() && stream_) arguments.error("STREAM: connections are followed by a NIDSConfirm; lead output 1 there");
  if (!monitors() && !eve_file_.empty())
    arguments.error("EVE: alerts come from the NIDSConfirm behind output 1; name the file there");
  if (file_.empty()) return;
  std::vector<std::string> errors;
  RuleSet set = read_rules(errors);
  for (auto& error : errors) arguments.error(error);
  if (errors.empty()) load(std::move(set));
}

bool NIDS::loses_candidates() const {
  if (behind.size() < 2) return false;  // a monitor's outputs
  std::vector<const Element*> reached{behind[1]};
  for (size_t k = 0; k < reached.size(); ++k) {
    const Element* element = reached[k];
    if (dynamic_cast<const NIDSConfirm*>(element) != nullptr) return false;
    if (element->behind.empty() && element->class_name != "Discard") return false;
    for (const Element* next : element->behind)
      if (std::ranges::find(reached, next) == reached.end()) reached.push_back(next);
  }
  return true;
}

void NIDS::spare_rules(const std::string& eve_file, const Directory& directory) {
  std::error_code none;  // what is not there is not the same
  if (!std::filesystem::is_regular_file(eve_file, none)) return;
  for (const Element* element : directory("*")) {
    const auto* nids = dynamic_cast<const NIDS*>(element);
    if (nids == nullptr) continue;
    for (const auto& [argument, file] : {std::pair("RULES", &nids->file_),
                                         {"VARIABLES", &nids->variables_file_},
                                         {"CLASSIFICATION", &nids->classification_file_}})
      if (std::filesystem::equivalent(eve_file, *file, none))
        throw Error("EVE: alerts would replace " + in_quotes(eve_file) + ", which is " + argument + " of '" +
                    nids->name + "'; name another file");
  }
}

void NIDS::link(const Directory& directory) {
  spare_rules(eve_file_, directory);
  if (loses_candidates())
    warn("heddle: warning: NIDS '" + name +
         "': candidates go nowhere but to Discard, so no alert comes of them; put a NIDSConfirm behind output 1, or "
         "leave that unconnected");
}

Access NIDS::access(Processor) const {
  if (monitors()) return {.reads = {kWholePacket}, .column_reads = columns(Column::l3, Column::l4)};
  return {.reads = {{Base::l3, 0, 10}, {Base::l4, 0, kToEnd}}, .column_reads = columns(Column::l3, Column::l4)};
}

std::span<const char* const> NIDS::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short"};
  return kReasons;
}

void NIDS::start(const Environment& environment) {
  rules_.prepare(environment.threads, on_cpu);
  const auto* before = static_cast<const NIDS*>(predecessor);
  judge_.open(eve_file_, *this, environment, before != nullptr ? &before->judge_ : nullptr);
}

void NIDS::hear(bool last) {
  if (!monitors() || !read_gpu_state) return;
  const Generation& rules = rules_.now();
  const auto confirm = [&](std::span<const uint8_t> packet, uint32_t l3, uint32_t l4) {
    View view;
    if (!look_at(packet.data(), static_cast<uint32_t>(packet.size()), l3, l4, view)) return;
    Judge::note(rules_, rules, nullptr, view);
    judge_.judge(rules_, rules, nullptr, view, {}, 0);
  };
  // Blocks tell of what they find as it comes: what a connection has begun with counts for all that has been told with
  // it.
  const auto glance = [&](std::span<const uint8_t> packet, uint32_t l3, uint32_t l4) {
    View view;
    if (look_at(packet.data(), static_cast<uint32_t>(packet.size()), l3, l4, view) && (view.tcp_flags & kSyn) != 0)
      judge_.note(rules_, rules, nullptr, view, true);
  };
  candidates_.poll(read_gpu_state, confirm, last, glance);
  if (last)
    for (PerThreadCounts* each : counts) each->publish(0);
  const uint64_t lost = candidates_.lost(), before = events_lost_.exchange(lost, std::memory_order_relaxed);
  if (lost > 0 && (before == 0 || last))
    std::fprintf(stderr, "heddle: NIDS '%s': candidates come faster than they are confirmed; %llu %s been lost%s\n",
                 name.c_str(), static_cast<unsigned long long>(lost), lost == 1 ? "has" : "have",
                 last ? "" : " so far");
}

void NIDS::on_timer(int thread) {
  if (thread != 0) return;
  hear(false);
  judge_.flush();
}

void NIDS::take_state(Element& old_element) {
  auto& old = static_cast<NIDS&>(old_element);
  old.hear(true);
  judge_.take_file(old.judge_);
  rules_.swap_flows(old.rules_);
}

std::string NIDS::stop() {
  hear(true);
  return judge_.close();
}

void NIDS::handlers(Handlers& list) {
  if (monitors())
    list.read("alerts", [this] { return std::to_string(judge_.alerts()); })
        .read("lost", [this] { return std::to_string(judge_.lost()); })
        .read("gave_up", [this] { return std::to_string(judge_.gave_up()); })
        .read("forgotten", [this] { return std::to_string(rules_.forgotten()); })
        .read("events_lost", [this] { return std::to_string(events_lost_.load()); });
  // One handler runs at a time, and only these replace rules: what they read stays.
  list.read("rules", [this] { return std::to_string(rules_.now().rules.size()); })
      .read("patterns", [this] { return std::to_string(rules_.now().automata.pattern_count()); })
      .read("groups", [this] { return std::to_string(rules_.now().automata.group_count()); })
      .read("memory", [this] { return std::to_string(rules_.bytes().size()); })
      .read("unsupported",
            [this] {
              std::string text;
              for (const LeftOut& rule : rules_.now().unsupported) text += rule.text + "\n";
              return text;
            })
      .read("counts", [this] { return rules_.counts_text(); })
      .write("reload", [this](const std::string&) {
        std::vector<std::string> errors;
        RuleSet set = read_rules(errors);
        throw_mistakes(errors, "the rules stay as they are");
        load(std::move(set));
      });
}

std::vector<std::pair<std::string, uint64_t>> NIDS::statistics() const {
  std::vector<std::pair<std::string, uint64_t>> list{
      {"rules", count_.load()}, {"groups", groups_.load()}, {"unsupported", unsupported_.load()}};
  if (monitors())
    list.insert(list.end(), {{"alerts", judge_.alerts()},
                             {"gave_up", judge_.gave_up()},
                             {"events_lost", events_lost_.load(std::memory_order_relaxed)}});
  if (judge_.lost() != 0) list.emplace_back("lost", judge_.lost());
  return list;
}

void NIDS::run_cpu(Batch& batch) {
  // Groups are looked up for some packets together, so that none of these waits for its own.
  constexpr int kTogether = 16;
  const Generation& rules = rules_.now();
  const bool syns = rules.automata.image().syns != 0;
  const uint32_t *l3 = batch.column(Column::l3), *l4 = batch.column(Column::l4);
  View views[kTogether];
  const PortGroup* groups[kTogether];  // null: it is dropped
  for (int first = 0; first < batch.size(); first += kTogether) {
    const int count = std::min(kTogether, batch.size() - first);
    for (int k = 0; k < count; ++k) {
      const int i = first + k;
      const Packet* packet = batch.packet(i);
      const bool whole =
          look_at(batch.frame(i), length(packet), l3[i] - packet->data_off, l4[i] - packet->data_off, views[k]);
      groups[k] = whole ? &rules.automata.group_of(views[k]) : nullptr;
    }
    for (int k = 0; k < count; ++k) {
      const int i = first + k;
      if (groups[k] == nullptr) {
        batch.drop(i, kShort);
        continue;
      }
      View& view = views[k];
      const bool candidate = groups[k]->search == PortGroup::Search::always || (syns && (view.tcp_flags & kSyn) != 0) ||
                             (rules.scanner ? rules.scanner->finds(groups[k]->number, view.payload, batch.thread)
                                            : rules.automata.finds(*groups[k], view.payload));
      if (!candidate) continue;
      if (!monitors()) {
        batch.next()[i] = kCandidate;
        continue;
      }
      Judge::note(rules_, rules, batch.packet(i), view);
      judge_.judge(rules_, rules, batch.packet(i), view, {}, batch.thread);
    }
  }
}

HEDDLE_ELEMENT(NIDS);

}  // namespace heddle
