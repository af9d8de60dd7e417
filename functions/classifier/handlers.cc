// The handlers of BitVectorClassifier and Firewall.

#include <map>
#include <sstream>

#include "click/values.h"
#include "core/error.h"
#include "core/mistakes.h"
#include "core/text_file.h"
#include "functions/classifier/classifier.h"
#include "functions/classifier/key_text.h"

namespace heddle {

using classifier::Rule;

namespace {

uint32_t number_of(const std::string& word) { return click::value_of<uint32_t>(word, 0u, classifier::kNoRule - 1); }

}  // namespace

void RuleElement::reload() {
  std::vector<std::string> errors;
  std::vector<classifier::SetRule> rules = read_rules(errors, &reader_.layout());
  throw_mistakes(errors, "the rules stay as they are");
  for (auto& rule : rules) complete(rule.rule, reader_.layout());
  fetch_hits();  // ids that rules are going to have again stand still
  try {
    rules_.load(std::move(rules), *engine_);
  } catch (const Error& error) {
    if (wanted_ || automatic_ != nullptr) throw;
    throw Error(
        std::string(error.what()) + "; the rules stay as they are. On a GPU ENGINE auto chose " +
        std::string(name_of(choice_.kind)) +
        " when the program started, and keeps it: write the element's arguments to its handler `config` (with -R), and "
        "it chooses anew, or give it ENGINE tuple");
  }
  count_ = rules_.size();
}

bool RuleElement::can_have_rules_of(const RuleElement& other) const {
  return outputs == other.outputs && reader_.layout() == other.reader_.layout();
}

void RuleElement::take_state(Element& old_element) {
  auto& old = static_cast<RuleElement&>(old_element);
  const RuleElement& heir = predecessor == &old ? *this : old;
  if (!heir.same_arguments || !can_have_rules_of(old)) return;
  old.fetch_hits();
  if (!has_moved_from(old)) swap_rules(old);
  hits_.take(old.hits_);
}

void RuleElement::swap_rules(RuleElement& other) {
  for (RuleElement* one : {this, &other}) std::erase(one->retiring, one->engine_.get());
  std::swap(engine_, other.engine_);
  std::swap(limits_, other.limits_);
  std::swap(automatic_, other.automatic_);
  std::swap(choice_, other.choice_);
  rules_.swap(other.rules_);
  for (RuleElement* one : {this, &other}) {
    one->table = one->engine_->table();
    one->retiring.push_back(one->engine_.get());
    for (Retiring* retiring : one->retiring) retiring->reclaim();
    one->count_ = one->rules_.size();
    one->watch();
  }
}

void RuleElement::fit(Rule& rule) const {
  check_places(rule, reader_.layout());
  complete(rule, reader_.layout());
}

void RuleElement::read_change(const std::string& line, std::map<uint32_t, std::optional<Rule>>& changes) const {
  std::istringstream words(line);
  std::string command, word, rest;
  words >> command;
  const auto taken = [&](uint32_t number) {
    const auto change = changes.find(number);
    return change != changes.end() ? change->second.has_value() : rules_.find(number) != nullptr;
  };
  const auto read_number = [&](bool must_be) {
    if (!(words >> word) || word.find_first_not_of("0123456789") != word.npos)
      throw Error(
          "expected " + command + " NUMBER" +
          (command == "remove" ? "" : " @SOURCE DESTINATION LOW : HIGH LOW : HIGH PROTOCOL [FIELD=VALUE ...] ACTION") +
          (word.empty() ? "" : ", and " + in_quotes(word) + " is not a number"));
    const uint32_t number = number_of(word);
    if (must_be && !taken(number)) throw Error(format("there is no rule %u", number));
    if (!must_be && taken(number)) throw Error(format("there is a rule %u; `replace` replaces it", number));
    return number;
  };
  const auto read_rule = [&] {
    Rule rule;
    std::getline(words >> std::ws, rest);
    if (const auto problem = classifier::parse_rule(rest, actions_, rule); !problem.empty())
      throw Error("'" + rest.substr(0, 200) + "' is not a rule: " + problem);
    fit(rule);
    return rule;
  };
  if (command == "remove") {
    const uint32_t number = read_number(true);
    if (words >> word) throw Error("'" + word.substr(0, 80) + "' is left over after the number");
    changes[number] = std::nullopt;
  } else if (command == "replace") {
    const uint32_t number = read_number(true);
    changes[number] = read_rule();
  } else if (command == "add") {
    const uint32_t number = read_number(false);
    changes[number] = read_rule();
  } else {
    throw Error("bad command '" + command.substr(0, 80) + "'; expected add, replace or remove");
  }
}

void RuleElement::change(const std::string& commands) {
  std::map<uint32_t, std::optional<Rule>> later;
  std::istringstream lines(commands);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find_first_not_of(" \t\r");
    if (first != line.npos && line[first] != '#') read_change(line, later);
  }
  std::vector<classifier::RuleChange> changes;
  for (const auto& [number, rule] : later) changes.push_back({number, rule});
  fetch_hits();
  rules_.change(changes, *engine_);
  count_ = rules_.size();
}

std::string RuleElement::lookup_text(const std::string& text) const {
  const std::vector<uint32_t> values = classifier::parse_key(text, reader_.layout());
  std::vector<const uint32_t*> keys;
  for (const uint32_t& value : values) keys.push_back(&value);
  classifier::Outcome outcome;
  engine_->classify(keys.data(), &outcome, 1);
  return (outcome.number == classifier::kNoRule ? "-1" : std::to_string(outcome.number)) +
         (outcome.next < kDrop ? " " + std::to_string(outcome.next) : " deny");
}

void RuleElement::fetch_hits() {
  if (read_gpu_state) hits_.fetch([this](auto to) { return read_gpu_state(0, std::as_writable_bytes(to)); });
}

std::string RuleElement::hits_text(const std::string& text) {
  fetch_hits();
  if (!text.empty()) {
    const uint32_t number = number_of(text);
    if (rules_.find(number) == nullptr) throw Error(format("there is no rule %u", number));
    uint64_t hits = 0;
    for (const uint32_t id : rules_.ids(number)) hits += hits_[id];
    return std::to_string(hits);
  }
  std::map<uint32_t, uint64_t> hits;  // by number
  for (const auto& part : rules_.sorted())
    if (const uint64_t one = hits_[part.id]; one != 0) hits[part.number] += one;
  std::string all;
  for (const auto& [number, count] : hits) all += format("%u %zu\n", number, size_t{count});
  return all;
}

void RuleElement::handlers(Handlers& list) {
  const auto one = [this](const char* command) {
    return [this, command](const std::string& value) {
      if (value.find('\n') < value.find_last_not_of(" \t\r\n")) throw Error("expected one rule; ctrl takes several");
      change(std::string(command) + " " + value);
    };
  };
  list.write("add", one("add"))
      .write("replace", one("replace"))
      .write("remove", one("remove"))
      .write("ctrl", [this](const std::string& value) { change(value); })
      .read_with_argument("lookup", [this](const std::string& key) { return lookup_text(key); })
      .read_with_argument("hits", [this](const std::string& number) { return hits_text(number); })
      .read("count", [this] { return std::to_string(count_.load()); })
      .read("rules", [this] { return std::to_string(count_.load()); })
      .read("engine", [this] { return choice(); })
      .read("memory", [this] { return std::to_string(engine_->bytes()); });
  if (!file_.empty()) list.write("reload", [this](const std::string&) { reload(); });
}

}  // namespace heddle
