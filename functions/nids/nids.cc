#include "functions/nids/nids.h"

#include "click/arguments.h"
#include "core/error.h"
#include "core/load.h"
#include "functions/nids/rule_file.h"

namespace heddle {

using namespace nids;

RuleSet NIDS::read_rules(std::vector<std::string>& errors) const {
  Variables variables;
  if (!variables_file_.empty()) {
    const RuleSet none = read_rule_file(variables_file_, false, variables, errors);
    if (!none.rules.empty())
      errors.push_back(
          format("%s:%zu: VARIABLES has rules; they belong into RULES", variables_file_.c_str(), none.rules[0].line));
  }
  return read_rule_file(file_, skip_unsupported_, variables, errors);
}

void NIDS::load(RuleSet set) {
  count_ = set.rules.size(), unsupported_ = set.unsupported.size();
  rules_.load(std::move(set), stream_);
}

void NIDS::configure(click::Arguments& arguments) {
  arguments.required("RULES", file_)
      .keyword("VARIABLES", variables_file_)
      .keyword("SKIP_UNSUPPORTED", skip_unsupported_)
      .keyword("STREAM", stream_);
  if (file_.empty()) return;
  std::vector<std::string> errors;
  RuleSet set = read_rules(errors);
  for (auto& error : errors) arguments.error(error);
  if (errors.empty()) load(std::move(set));
}

Access NIDS::access(Processor) const {
  return {.reads = {{Base::l3, 6, 10}, {Base::l4, 0, kToEnd}}, .column_reads = columns(Column::l3, Column::l4)};
}

std::span<const char* const> NIDS::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short"};
  return kReasons;
}

void NIDS::start(const Environment& environment) { rules_.prepare(environment.threads, on_cpu); }

void NIDS::handlers(Handlers& list) {
  // One handler runs at a time, and only these replace rules: what they read stays.
  list.read("rules", [this] { return std::to_string(rules_.now().rules.size()); })
      .read("patterns", [this] { return std::to_string(rules_.now().automaton.patterns().size()); })
      .read("memory", [this] { return std::to_string(rules_.bytes().size()); })
      .read("unsupported",
            [this] {
              std::string text;
              for (const auto& line : rules_.now().unsupported) text += line + "\n";
              return text;
            })
      .read("counts", [this] { return rules_.counts_text(); })
      .write("reload", [this](const std::string&) {
        std::vector<std::string> errors;
        RuleSet set = read_rules(errors);
        if (!errors.empty())
          throw Error(errors[0] + (errors.size() > 1 ? format(" (and %zu more)", errors.size() - 1) : "") +
                      "; the rules stay as they are");
        load(std::move(set));
      });
}

std::vector<std::pair<std::string, uint64_t>> NIDS::statistics() const {
  return {{"rules", count_.load()}, {"unsupported", unsupported_.load()}};
}

void NIDS::run_cpu(Batch& batch) {
  const Generation& rules = rules_.now();
  const Image& image = rules.automaton.image();
  const uint32_t *l3 = batch.column(Column::l3), *l4 = batch.column(Column::l4);
  for (int i = 0; i < batch.size(); ++i) {
    const Packet* packet = batch.packet(i);
    View view;
    if (!look_at(batch.frame(i), length(packet), l3[i] - packet->data_off, l4[i] - packet->data_off, view)) {
      batch.drop(i, kShort);
      continue;
    }
    const bool candidate =
        image.is_always(view.protocol) ||
        (rules.scanner ? rules.scanner->finds(view.payload, batch.thread) : rules.automaton.finds(view.payload));
    if (candidate) batch.next()[i] = kCandidate;
  }
}

HEDDLE_ELEMENT(NIDS);

}  // namespace heddle
