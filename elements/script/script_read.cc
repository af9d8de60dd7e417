// What a Script's instructions say, read once.
#include <iterator>

#include "click/arguments.h"
#include "click/quoting.h"
#include "core/error.h"
#include "elements/script/functions.h"
#include "elements/script/script.h"
#include "elements/script/text.h"

namespace heddle {

std::optional<Script::Word> Script::word(const std::string& name) {
  static const std::map<std::string, Word> kWords = {
      {"append", {Op::append}},
      {"end", {Op::end}},
      {"error", {Op::error}},
      {"errorq", {Op::error, true}},
      {"exit", {Op::exit}},
      {"export", {Op::export_}},
      {"exportq", {Op::export_, true}},
      {"goto", {Op::goto_}},
      {"init", {Op::init}},
      {"initq", {Op::init, true}},
      {"label", {Op::label}},
      {"loop", {Op::goto_}},
      {"pause", {Op::pause}},
      {"print", {Op::print}},
      {"printn", {Op::print, false, false}},
      {"printnq", {Op::print, true, false}},
      {"printq", {Op::print, true}},
      {"read", {Op::read}},
      {"readq", {Op::read, true}},
      {"return", {Op::return_}},
      {"returnq", {Op::return_, true}},
      {"save", {Op::save}},
      {"set", {Op::set}},
      {"setq", {Op::set, true}},
      {"stop", {Op::stop}},
      {"wait", {Op::wait}},
      {"wait_for", {Op::wait}},
      {"wait_step", {Op::pause}},
      {"wait_stop", {Op::pause}},
      {"wait_time", {Op::wait}},
      {"write", {Op::write}},
      {"writeq", {Op::write, true}},
  };
  const auto found = kWords.find(name);
  return found == kWords.end() ? std::nullopt : std::optional(found->second);
}

bool Script::read_instruction(std::string_view text, Instruction& instruction, std::string& problem) const {
  const std::string name = script::take_word(text);
  const auto known = word(name);
  if (!known) {
    problem = "unknown instruction " + click::in_quotes(name);
    return false;
  }
  instruction = {known->op, known->unquote, known->newline, {}, std::string(text), 0, 0};
  const auto expected = [&](const char* what) {
    problem = "'" + name + "' expects " + what;
    return false;
  };
  if (name == "loop") {
    instruction.name = "begin";
    return text.empty() || expected("nothing after it");
  }
  switch (known->op) {
    case Op::set:
    case Op::init:
    case Op::export_:
      instruction.name = script::take_word(text);
      if (instruction.name.empty() || (known->op == Op::set && text.empty())) return expected("a variable and a text");
      break;
    case Op::label:
    case Op::goto_:
      instruction.name = script::take_word(text);
      if (instruction.name.empty() || (known->op == Op::label && !text.empty())) return expected("a label");
      break;
    case Op::read:
    case Op::write:
      if (text.empty()) return expected("a handler");
      break;
    case Op::save:
    case Op::append:
      // The last word is the file, those before are the handler's arguments.
      if (const auto words = click::split_words(text); words.size() >= 2) {
        instruction.name = click::trim(text.substr(0, static_cast<size_t>(words.back().data() - text.data())));
        text = words.back();
      } else {
        return expected("a handler and a file name");
      }
      break;
    case Op::wait:
      if (!text.empty()) {
        click::Duration time;
        if (text.find('$') == text.npos && !script::parse_time(text, time)) return expected("a time such as 1.5s");
        break;
      }
      instruction.op = Op::pause;
      [[fallthrough]];
    case Op::pause:
      instruction.count = 1;
      if (!text.empty() && !click::parse(text, instruction.count, 0)) return expected("a number of steps");
      break;
    case Op::end:
    case Op::exit:
    case Op::stop:
      if (!text.empty()) return expected("nothing after it");
      break;
    case Op::print:
    case Op::return_:
    case Op::error:
      break;
  }
  instruction.text = text;
  return true;
}

int Script::find_label(const std::string& label) const {
  for (size_t i = 0; i < instructions_.size(); ++i)
    if (instructions_[i].op == Op::label && instructions_[i].name == label) return static_cast<int>(i);
  if (label == "begin" || label == "loop") return 0;
  for (auto& [name, op] : {std::pair{"exit", Op::exit}, {"end", Op::end}, {"stop", Op::stop}, {"error", Op::error}})
    if (label == name) return -1 - static_cast<int>(op);
  throw Error("no such label '" + label.substr(0, 80) + "'");
}

void Script::configure(click::Arguments& arguments) {
  read_type(arguments);
  configure_instructions(arguments, arguments.rest_with_keywords());
}

void Script::configure_instructions(click::Arguments& arguments, const std::vector<click::Argument>& given) {
  std::vector<click::Argument> places;
  for (const click::Argument& argument : given) {
    if (click::trim(argument.text).empty()) continue;
    Instruction instruction{};
    if (std::string problem; read_instruction(click::trim(argument.text), instruction, problem)) {
      instructions_.push_back(instruction);
      places.push_back(argument);
    } else {
      arguments.error_at(argument, problem);
    }
  }
  for (size_t i = 0; i < instructions_.size(); ++i) {
    if (instructions_[i].op != Op::goto_) continue;
    try {
      instructions_[i].target = find_label(instructions_[i].name);
    } catch (const Error& error) {
      arguments.error_at(places[i], error.what());
    }
  }
  if (type_ == Type::driver) {
    if (instructions_.empty()) instructions_.push_back({Op::pause, false, true, {}, {}, 1, 0});
    instructions_.push_back({Op::stop, false, true, {}, {}, 0, 0});
  } else {
    instructions_.push_back({Op::end, false, true, {}, {}, 0, 0});
  }
  keeps_running_ = !waits_to_be_called();
}

void Script::handlers(Handlers& list) {
  const auto number = [](const std::string& text) { return text.empty() ? 1 : click::value_of<int>(text, 0); };
  list.write("step", [this, number](const std::string& text) { step(number(text)); })
      .write("goto",
             [this](const std::string& label) {
               const int target = find_label(std::string(click::trim(label)));
               if (target < 0) throw Error("jump to nonexistent label");
               go_to(static_cast<size_t>(target));
               execute();
             })
      .read_with_argument("run", [this](const std::string& text) { return run(text); })
      .write("run", [this](const std::string& text) { run(text); })
      .read_with_argument("get",
                          [this](const std::string& text) {
                            const auto found = variables_.find(text);
                            if (found == variables_.end()) throw Error("no variable '" + text.substr(0, 80) + "'");
                            return found->second;
                          })
      .write("set", [this](const std::string& text) {
        std::string_view rest = text;
        const std::string variable = script::take_word(rest);
        if (variable.empty()) throw Error("expected a variable and its value");
        variables_[variable] = click::trim(rest);
      });
  for (auto& function : script::functions())
    if (!function.local) list.read_with_argument(function.name, function.call);
  if (type_ == Type::proxy)
    list.read_with_argument("*", [this](const std::string& call) { return proxy(call, false); })
        .write("*", [this](const std::string& call) { proxy(call, true); });
  for (auto& instruction : instructions_)
    if (instruction.op == Op::export_)
      list.read(instruction.name, [this, name = instruction.name] { return variables_[name]; });
}

HEDDLE_ELEMENT(Script);

}  // namespace heddle
