#include <bit>
#include <cstdio>

#include "click/arguments.h"
#include "core/error.h"
#include "core/mistakes.h"
#include "core/text_file.h"
#include "functions/classifier/classifier.h"

namespace heddle {

using classifier::Actions;
using classifier::ListedRule;
using classifier::Rule;
using classifier::SetRule;

namespace {

constexpr uint16_t dropped(int reason) { return static_cast<uint16_t>(kDrop | reason); }

std::optional<uint16_t> output_of(std::string_view word, int outputs) {
  uint16_t output = 0;
  if (outputs == 0 || !click::parse(word, output, 0, static_cast<uint16_t>(outputs - 1))) return std::nullopt;
  return output;
}

// Offset of a header from the packet's first byte; as large as the packet if it marks no byte of it.
uint32_t offset_in(const Packet* packet, uint32_t mark) {
  return std::min(mark - packet->data_off, length(packet));  // huge if before the packet
}

}  // namespace

Actions BitVectorClassifier::actions() const {
  return {.read = [this](std::string_view word) -> std::optional<uint16_t> {
            if (word == "deny") return dropped(kDenied);
            return output_of(word, outputs);
          },
          .expected = outputs > 1 ? format("the outputs 0 to %d, and deny", outputs - 1) : "the output 0, and deny",
          .usual = 0};
}

std::optional<uint16_t> BitVectorClassifier::usual_default() const { return dropped(kNoMatch); }

Actions Firewall::actions() const {
  return {.read = [this](std::string_view word) -> std::optional<uint16_t> {
            if (word == "deny") return outputs > 1 ? uint16_t{1} : dropped(kDenied);
            return word == "allow" ? std::optional<uint16_t>(0) : std::nullopt;
          },
          .expected = "allow and deny"};
}

std::vector<SetRule> RuleElement::read_rules(std::vector<std::string>& errors, const classifier::Layout* layout) const {
  std::vector<ListedRule> listed;
  if (!file_.empty()) listed = classifier::list_rule_file(file_, actions_, errors);
  if (layout != nullptr) {
    Mistakes mistakes(file_, errors);
    for (const ListedRule& one : listed) try {
        check_places(one.rule, *layout);
      } catch (const Error& error) {
        mistakes.add(one.line, error.what());
      }
  }
  const uint32_t last = listed.empty() ? classifier::kNoRule : listed.back().number;
  for (const Rule& rule : own_rules_) listed.push_back({rule});
  std::vector<SetRule> rules;
  rules.reserve(listed.size());
  uint64_t next = 0;
  for (ListedRule& one : listed) {
    const uint64_t number = one.number == classifier::kNoRule ? next : one.number;
    if (number >= classifier::kNoRule) {
      errors.push_back(last != classifier::kNoRule
                           ? format("the last rule of RULES has number %u, and those of the arguments come behind it, "
                                    "where numbers above %u would be needed; give it a lower number",
                                    last, classifier::kNoRule - 1)
                           : format("%zu rules in steps of %u need numbers above %u; make STEP smaller", listed.size(),
                                    step_, classifier::kNoRule - 1));
      break;
    }
    rules.push_back({static_cast<uint32_t>(number), classifier::kNoId, std::move(one.rule)});
    next = number + step_;
  }
  return rules;
}

classifier::Layout RuleElement::layout_of(const std::vector<SetRule>& rules) const {
  classifier::Layout layout;
  Rule named;  // asks for all of FIELDS
  for (const std::string_view word : words_of(fields_)) {
    const auto places = classifier::parse_places(word);
    if (!places) throw Error("FIELDS: " + in_quotes(word) + " is not a field; there are " + classifier::kPlaceNames);
    for (const auto& place : *places) named.more = {{place, place.largest(), 0, 0}}, add_places(layout, named);
  }
  for (const SetRule& rule : rules) add_places(layout, rule.rule);
  classifier::check_count(layout.size());
  return layout;
}

void RuleElement::configure(click::Arguments& arguments) {
  enum class Engine { bitvector, acl, tuple, hypersplit, automatic };  // the others as EngineKind
  Engine engine = Engine::automatic;
  size_t most_megabytes = 4096;
  uint32_t changes = 0;
  std::string action, otherwise;
  arguments.keyword("RULES", file_)
      .keyword("FIELDS", fields_)
      .keyword("ACTION", action)
      .keyword("DEFAULT", otherwise)
      .choice("ENGINE", engine,
              {{"auto", Engine::automatic},
               {"bitvector", Engine::bitvector},
               {"acl", Engine::acl},
               {"tuple", Engine::tuple},
               {"hypersplit", Engine::hypersplit}})
      .choice("SEARCH", limits_.form,
              {{"packed", classifier::SearchForm::packed},
               {"plain", classifier::SearchForm::plain},
               {"binary", classifier::SearchForm::binary}})
      .keyword("STEP", step_, 1u, 1u << 20)
      .keyword("MEMORY", most_megabytes, size_t{1}, size_t{1} << 20)
      .keyword("CHANGES", changes, 0u, 1'000'000u);
  if (limits_.form != classifier::SearchForm::packed && engine != Engine::automatic && engine != Engine::bitvector)
    arguments.error("SEARCH", "ENGINE bitvector or auto, for it says how bit vectors are searched");
  if (engine != Engine::automatic) wanted_ = static_cast<classifier::EngineKind>(engine);
  actions_ = actions();
  bool right = true;
  const auto read_action = [&](const char* keyword, const std::string& word) {
    const auto read = actions_.read(word);
    if (!read) arguments.error(keyword, "an action; there are " + actions_.expected), right = false;
    return read;
  };
  // A wrong one is said once, not of each rule without an action.
  if (!action.empty()) actions_.usual = read_action("ACTION", action).value_or(0);
  auto no_match = otherwise.empty() ? usual_default() : read_action("DEFAULT", otherwise);
  if (!no_match && otherwise.empty()) {
    arguments.error("missing DEFAULT: what becomes of packets that hit no rule; give DEFAULT allow or DEFAULT deny");
    right = false;
  }
  for (const auto& argument : arguments.rest()) {
    Rule rule;
    const std::string problem = classifier::parse_rule(argument.text, actions_, rule);
    if (!problem.empty()) arguments.error(argument, "a rule: " + problem), right = false;
    own_rules_.push_back(rule);
  }
  std::vector<std::string> errors;
  std::vector<SetRule> rules = read_rules(errors, nullptr);
  for (auto& error : errors) arguments.error(error);
  if (!right || !errors.empty()) return;
  try {
    reader_ = classifier::KeyReader(layout_of(rules));
    limits_ = {*no_match, most_megabytes << 20, reader_.layout(), limits_.form, static_cast<double>(changes)};
    for (SetRule& rule : rules) complete(rule.rule, reader_.layout());
    rules_.on_new_id = [this](uint32_t id) { hits_.reset(id); };
    take_rules(std::move(rules));
  } catch (const Error& error) {
    arguments.error(error.what());
  }
  count_ = rules_.size();
}

void RuleElement::take_rules(std::vector<SetRule> rules) {
  if (!wanted_) {
    take_auto_engine();
    return rules_.load(std::move(rules), *engine_);
  }
  choice_ = {*wanted_, "ENGINE says so"};
  take_engine(classifier::make_engine(*wanted_, limits_));
  try {
    rules_.load(rules, *engine_);
  } catch (const Error& error) {
    if (*wanted_ != classifier::EngineKind::bitvector) throw;
    throw Error(std::string(error.what()) + "; " + classifier::sizes_without_vectors(rules, limits_));
  }
}

void RuleElement::take_engine(std::unique_ptr<classifier::RuleEngine> engine, const classifier::AutoEngine* automatic) {
  engine_ = std::move(engine);
  automatic_ = automatic;
  table = engine_->table();
  retiring = {engine_.get(), &rules_};
}

void RuleElement::take_auto_engine() {
  auto engine = std::make_unique<classifier::AutoEngine>(limits_);
  const auto* automatic = engine.get();
  take_engine(std::move(engine), automatic);
}

void RuleElement::make_for_gpu() const { for_gpu_ = classifier::make_gpu_engine(rules_.sorted(), limits_, choice_); }

bool RuleElement::follows_device() const {
  if (wanted_ || automatic_ == nullptr) return true;
  why_no_gpu_.clear();
  try {
    make_for_gpu();
  } catch (const Error& error) {
    why_no_gpu_ = error.what();
  }
  return why_no_gpu_.empty();
}

void RuleElement::placed(bool on_gpu) {
  if (engine_ == nullptr) return;  // its arguments were wrong
  if (wanted_) {
    if (!on_gpu || engine_->table() != nullptr) return;
    if (*wanted_ == classifier::EngineKind::acl)
      throw Error("ENGINE acl runs on a CPU only; give it DEVICE cpu, or another ENGINE for a GPU");
    throw Error(
        format("the rules ask for %zu fields beside the 5-tuple, and ENGINE tuple takes %u on a GPU; give it "
               "DEVICE cpu",
               limits_.layout.size(), classifier::kMaxDimensions - classifier::kFields));
  }
  if (on_gpu == (automatic_ == nullptr)) return;
  choose_engine(on_gpu);
}

void RuleElement::choose_engine(bool for_gpu) {
  if (for_gpu) {
    if (for_gpu_ == nullptr) make_for_gpu();
    return take_engine(std::move(for_gpu_));
  }
  take_auto_engine();
  engine_->load(rules_.sorted());
}

std::string RuleElement::choice() const {
  const classifier::EngineChoice& choice = automatic_ != nullptr ? automatic_->choice() : choice_;
  return "engine " + std::string(name_of(choice.kind)) + ": " + choice.why +
         (why_no_gpu_.empty() ? "" : "; not on a GPU: " + why_no_gpu_);
}

void RuleElement::start(const Environment& environment) {
  if (!why_no_gpu_.empty())
    std::fprintf(stderr, "%s: on the CPU, not on a GPU: %s\n", name.c_str(), why_no_gpu_.c_str());
  stopping_ = environment.stopping;
  watch();
  // No handler changes the other's rules until they are this one's.
  if (auto* old = static_cast<RuleElement*>(predecessor);
      old != nullptr && same_arguments && can_have_rules_of(*old) && has_moved_from(*old)) {
    classifier::RuleSet rules = old->rules_;
    rules_.swap(rules);
    choose_engine(automatic_ == nullptr);
    count_ = rules_.size();
  }
  engine_->start();
  hits_.start(environment.threads);
}

void RuleElement::watch() {
  *limits_.check_wanted = [this] {
    if (stopping_ && stopping_()) throw classifier::Unwanted("the program is about to end; the rules stay as they are");
  };
}

Access RuleElement::access(Processor) const {
  Access access = reader_.access();
  access.column_writes = columns(Column::rule);
  return access;
}

std::span<const char* const> RuleElement::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short", "no_match", "denied"};
  return kReasons;
}

void RuleElement::run_cpu(Batch& batch) {
  using namespace classifier;
  constexpr int kGroup = 64;
  const uint32_t *l3 = batch.column(Column::l3), *l4 = batch.column(Column::l4);
  const uint32_t* vlan = find(reader_.layout(), kVlan) ? batch.column(Column::vlan) : nullptr;
  const uint32_t* paint = find(reader_.layout(), kPaint) ? batch.column(Column::paint) : nullptr;
  uint32_t* numbers = batch.column(Column::rule);
  uint16_t* next = batch.next();
  uint32_t values[kFields + kMaxPlaces][kGroup];
  const uint32_t* keys[kFields + kMaxPlaces];
  for (size_t f = 0; f < reader_.values(); ++f) keys[f] = values[f];
  Outcome outcomes[kGroup];
  for (int base = 0; base < batch.size(); base += kGroup) {
    const int n = std::min(kGroup, batch.size() - base);
    uint64_t too_short = 0, not_ip4 = 0;
    for (int i = 0; i < n; ++i) {
      const int at = base + i;
      const Packet* packet = batch.packet(at);
      const PacketView view{batch.frame(at),
                            length(packet),
                            offset_in(packet, l3[at]),
                            offset_in(packet, l4[at]),
                            vlan != nullptr ? vlan[at] : 0,
                            paint != nullptr ? paint[at] : 0};
      const Reading reading = reader_.read(view, &values[0][i], kGroup);
      too_short |= uint64_t{reading == Reading::too_short} << i;
      not_ip4 |= uint64_t{reading == Reading::not_ip4} << i;
    }
    engine_->classify(keys, outcomes, n);
    for (; not_ip4 != 0; not_ip4 &= not_ip4 - 1)
      outcomes[std::countr_zero(not_ip4)] = {kNoRule, kNoId, limits_.no_match};
    for (; too_short != 0; too_short &= too_short - 1)
      outcomes[std::countr_zero(too_short)] = {kNoRule, kNoId, dropped(kShort)};
    for (int i = 0; i < n; ++i) {
      numbers[base + i] = outcomes[i].number;
      next[base + i] = static_cast<uint16_t>(outcomes[i].next);
      hits_.add(batch.thread, outcomes[i].id);
    }
  }
}

HEDDLE_ELEMENT(BitVectorClassifier);
HEDDLE_ELEMENT(Firewall);

}  // namespace heddle
