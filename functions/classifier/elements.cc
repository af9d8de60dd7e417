#include <arpa/inet.h>

#include <bit>

#include "click/arguments.h"
#include "core/error.h"
#include "core/load.h"
#include "functions/classifier/classifier.h"

namespace heddle {

using classifier::Actions;
using classifier::Rule;

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

std::vector<Rule> RuleElement::read_rules(std::vector<std::string>& errors) const {
  std::vector<Rule> rules;
  if (!file_.empty()) rules = classifier::read_rule_file(file_, actions_, errors);
  rules.insert(rules.end(), own_rules_.begin(), own_rules_.end());
  return rules;
}

void RuleElement::configure(click::Arguments& arguments) {
  enum class Format { classbench };
  Format file_format = Format::classbench;
  enum class Engine { bitvector, acl, tuple, automatic };  // the first three as EngineKind
  Engine engine = Engine::automatic;
  size_t most_megabytes = 4096;
  std::string action, otherwise;
  arguments.keyword("RULES", file_)
      .choice("FORMAT", file_format, {{"classbench", Format::classbench}})
      .keyword("ACTION", action)
      .keyword("DEFAULT", otherwise)
      .choice("ENGINE", engine,
              {{"auto", Engine::automatic},
               {"bitvector", Engine::bitvector},
               {"acl", Engine::acl},
               {"tuple", Engine::tuple}})
      .keyword("STEP", step_, 1u, 1u << 20)
      .keyword("MEMORY", most_megabytes, size_t{1}, size_t{1} << 20);
  if (engine != Engine::automatic) wanted_ = static_cast<classifier::EngineKind>(engine);
  actions_ = actions();
  bool right = true;
  const auto read_action = [&](const char* keyword, const std::string& word) {
    const auto read = actions_.read(word);
    if (!read) arguments.error(keyword, "an action; there are " + actions_.expected), right = false;
    return read;
  };
  if (!action.empty()) actions_.usual = read_action("ACTION", action);
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
  const std::vector<Rule> rules = read_rules(errors);
  for (auto& error : errors) arguments.error(error);
  if (!right || !errors.empty()) return;
  limits_ = {*no_match, most_megabytes << 20};
  choose(rules.size(), false);
  try {
    rules_.load(rules, step_, *engine_);
  } catch (const Error& error) {
    arguments.error(error.what());
  }
  changed();
}

void RuleElement::choose(size_t rules, bool on_gpu) {
  const auto choice =
      wanted_ ? classifier::EngineChoice{*wanted_, "ENGINE says so"} : classifier::choose_engine(rules, on_gpu);
  kind_ = choice.kind, why_ = choice.why;
  engine_ = classifier::make_engine(kind_, limits_);
  table = engine_->table();
  retiring = {engine_.get(), &rules_};
}

void RuleElement::placed(bool on_gpu) {
  if (engine_ == nullptr) return;  // its arguments were wrong
  if (wanted_) {
    if (on_gpu && engine_->table() == nullptr)
      throw Error("ENGINE " + std::string(name_of(kind_)) +
                  " runs on a CPU only; give it DEVICE cpu, or ENGINE bitvector for a GPU");
    return;
  }
  const auto choice = classifier::choose_engine(rules_.size(), on_gpu);
  why_ = choice.why;
  if (choice.kind == kind_) return;
  choose(rules_.size(), on_gpu);
  try {
    engine_->load(rules_.sorted());
  } catch (const Error& error) {
    throw Error(std::string(error.what()) + (on_gpu ? "; with DEVICE cpu they can have ENGINE tuple" : ""));
  }
}

std::string RuleElement::choice() const { return "engine " + std::string(name_of(kind_)) + ": " + why_; }

void RuleElement::start(const Environment& environment) {
  engine_->start();
  if (!on_gpu) hits_.start(environment.threads);
}

Access RuleElement::access(Processor) const {
  using enum Base;
  return {.reads = {{l3, 6, 8}, {l3, 9, 10}, {l3, 12, 20}, {l4, 0, 4}},
          .column_reads = columns(Column::l3, Column::l4),
          .column_writes = columns(Column::rule)};
}

std::span<const char* const> RuleElement::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short", "no_match", "denied"};
  return kReasons;
}

void RuleElement::run_cpu(Batch& batch) {
  using namespace classifier;
  constexpr int kGroup = 64;
  const uint32_t *l3 = batch.column(Column::l3), *l4 = batch.column(Column::l4);
  uint32_t* numbers = batch.column(Column::rule);
  uint16_t* next = batch.next();
  uint32_t fields[kFields][kGroup];
  Outcome outcomes[kGroup];
  const uint32_t* const keys[kFields] = {fields[0], fields[1], fields[2], fields[3], fields[4]};
  for (int base = 0; base < batch.size(); base += kGroup) {
    const int n = std::min(kGroup, batch.size() - base);
    uint64_t too_short = 0;
    for (int i = 0; i < n; ++i) {
      const Packet* packet = batch.packet(base + i);
      const uint32_t network = offset_in(packet, l3[base + i]), bytes = length(packet);
      for (auto& field : fields) field[i] = 0;
      if (bytes - network < kNetworkBytes) {
        too_short |= uint64_t{1} << i;
        continue;
      }
      const uint8_t* header = batch.frame(base + i) + network;
      const uint32_t control = load_u16(header + 6) | static_cast<uint32_t>(header[9]) << 24;
      fields[kSource][i] = ntohl(load_u32(header + 12));
      fields[kDestination][i] = ntohl(load_u32(header + 16));
      fields[kProtocol][i] = protocol_of(control);
      if (!has_ports(control)) continue;
      const uint32_t transport = offset_in(packet, l4[base + i]);
      if (bytes - transport < kPortBytes) {
        too_short |= uint64_t{1} << i;
        continue;
      }
      const uint32_t ports = load_u32(batch.frame(base + i) + transport);
      fields[kSourcePort][i] = source_port(ports);
      fields[kDestinationPort][i] = destination_port(ports);
    }
    engine_->classify(keys, outcomes, n);
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
