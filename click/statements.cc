#include "click/statements.h"

#include <algorithm>
#include <utility>

#include "click/flatten.h"
#include "click/quoting.h"

namespace heddle::click {

namespace {

constexpr size_t kMaxParameters = 64;

bool is_keyword_parameter(std::string_view name) {
  return name == "__REST__" || leading_keyword(std::string(name) + " VALUE") == name;
}

}  // namespace

StatementParser::StatementParser(std::string_view text, const std::string& file, const ParseOptions& options,
                                 Diagnostics& diagnostics)
    : options_(options),
      diagnostics_(diagnostics),
      lexer_(text, file, diagnostics),
      packages_(options.packages.begin(), options.packages.end()) {}

Program StatementParser::parse() {
  frames_.push_back({&program_.bodies.emplace_back(), "", {}, {}, {}, {}, {}});
  const Lexer text = std::exchange(lexer_, Lexer(options_.prelude, kPrelude, diagnostics_));
  all_statements();
  lexer_ = text;
  all_statements();
  finish_names();
  finish_groups();
  report_unknown_classes();
  program_.complete = !stopped_;
  return std::move(program_);
}

void StatementParser::all_statements() {
  next();
  while (token_.kind != Token::kEnd) {
    statements();
    if (token_.kind == Token::kEnd) break;
    unexpected("a statement");  // a '}' or '||' that belongs to no compound element
    next();
  }
}

bool StatementParser::accept(std::string_view symbol) {
  if (!token_.is(symbol)) return false;
  next();
  return true;
}

std::vector<Argument> StatementParser::configuration() {
  if (!token_.is("(")) return {};
  std::vector<Argument> arguments = lexer_.configuration(token_.where);
  next();
  return arguments;
}

void StatementParser::error(const Location& where, std::string message) {
  frame().body->broken = true;
  if (stopped_) return;
  diagnostics_.error(where, std::move(message));
  if (!diagnostics_.full()) return;
  stopped_ = true;
  lexer_.stop();
}

void StatementParser::unexpected(const std::string& expected) {
  const std::string what = token_.kind == Token::kEnd ? "end of the configuration" : token_.description();
  error(token_.where, "unexpected " + what + "; expected " + expected);
}

void StatementParser::stop(const Location& where, const std::string& message) {
  error(where, message);
  stopped_ = true;
  lexer_.stop();
  next();
}

void StatementParser::recover(bool whole_body) {
  for (int braces = 0; token_.kind != Token::kEnd; next()) {
    const bool statement_ends = token_.is(";") || token_.is("||") || is_reserved(token_);
    const bool group_ends = token_.is(")") && !frame().groups.empty();
    if (braces == 0 && (token_.is("}") || ((statement_ends || group_ends) && !whole_body))) return;
    if (token_.is("(")) lexer_.configuration(token_.where);
    if (token_.is("{")) ++braces;
    if (token_.is("}")) --braces;
  }
}

void StatementParser::statements() {
  while (token_.kind != Token::kEnd && !token_.is("}") && !token_.is("||")) {
    if (token_.is(")") && !frame().groups.empty()) return;
    if (accept(";")) continue;
    if (token_.is_name("elementclass")) {
      element_class();
    } else if (token_.is_name("define")) {
      define();
    } else if (token_.is_name("require")) {
      require();
    } else if (token_.is_name("provide")) {
      provide();
    } else {
      chain();
    }
  }
}

void StatementParser::element_class() {
  next();
  const Token name = token_;
  if (name.kind != Token::kName || is_reserved(name)) {
    unexpected("the name of the element class");
    return recover();
  }
  next();
  if (token_.is("{")) {
    const Body* body = compound(std::string(name.text));
    frame().classes[std::string(name.text)] = {std::string(name.text), body};
  } else if (token_.kind == Token::kName && !is_reserved(token_)) {
    frame().classes[std::string(name.text)] = require_class(token_);
    next();
  } else {
    unexpected("'{' or the name of an element class");
    recover();
  }
}

void StatementParser::define() {
  next();
  if (!token_.is("(")) {
    unexpected("'('");
    return recover();
  }
  for (const Argument& argument : configuration()) {
    const std::string_view text = argument.text;
    size_t end = text.starts_with('$') ? 1 : 0;
    while (end > 0 && end < text.size() && is_word_character(text[end])) ++end;
    if (end < 2 || (end < text.size() && !is_space(text[end]))) {
      error(argument.where, "unexpected " + in_quotes(text) + "; expected '$NAME VALUE'");
      continue;
    }
    const std::string name(text.substr(1, end - 1));
    if (add_variable(name, argument.where))
      frame().body->definitions.push_back({name, {std::string(trim(text.substr(end))), argument.where}});
  }
}

/** `require(NAME, package NAME, compact_config)`: names that stand in ParseOptions::packages or in a provide. */
void StatementParser::require() {
  next();
  if (!token_.is("(")) return unexpected("'('");
  for (const Argument& argument : configuration()) {
    const std::vector<std::string_view> words = split_words(argument.text);
    if (words.empty() || (words.size() == 1 && words[0] == "compact_config")) continue;
    if (words[0] == "library") {
      require_library(argument, unquote(std::string_view(trim(argument.text)).substr(words[0].size())));
      continue;
    }
    const std::string name = unquote(words.back());
    if (words.size() > 2 || (words.size() == 2 && words[0] != "package")) {
      error(argument.where, "unexpected " + in_quotes(argument.text) + "; expected 'package NAME' or 'NAME'");
    } else if (!packages_.contains(name)) {
      const std::string hint = suggestion(name, {packages_.begin(), packages_.end()});
      std::string known;
      for (const std::string& package : packages_) known += (known.empty() ? "" : ", ") + package;
      error(argument.where,
            "unknown package " + in_quotes(name) + (hint.empty() ? "; expected one of " + known : hint));
    }
  }
}

void StatementParser::require_library(const Argument& argument, const std::string& name) {
  const std::string file(trim(name));
  if (!options_.read_library)
    return error(argument.where, in_quotes(argument.text) + ": libraries are not read; expected its text in this file");
  if (frames_.size() > 1)
    return error(argument.where, in_quotes(argument.text) + " stands in a compound element; expected it outside");
  if (libraries_.contains(file)) return;
  constexpr size_t kMaxLibraries = 64;
  const auto text = libraries_.size() < kMaxLibraries ? options_.read_library(file, argument.where.file) : std::nullopt;
  if (!text) return error(argument.where, "library " + in_quotes(file) + " cannot be read; is it there?");
  const std::string& kept = libraries_.emplace(file, *text).first->second;
  const Token token = token_;
  const Lexer rest = std::exchange(lexer_, Lexer(kept, file, diagnostics_));
  all_statements();
  lexer_ = rest, token_ = token;
}

void StatementParser::provide() {
  next();
  if (!token_.is("(")) return unexpected("'('");
  for (const Argument& argument : configuration())
    for (const std::string_view word : split_words(argument.text)) packages_.insert(unquote(word));
}

/** `{ definition || definition || ... }`: the first definition, which leads to the others. */
Body* StatementParser::compound(const std::string& class_name) {
  const Location open = token_.where;
  Body *first = nullptr, *last = nullptr;
  if (++nesting_ > kMaxCompoundDepth)
    stop(open, "compound elements nest more than " + std::to_string(kMaxCompoundDepth) + " deep");
  do {
    const size_t errors = diagnostics_.errors().size();
    next();
    if (first != nullptr && token_.is("...")) {
      extend(*last, class_name);
      break;
    }
    Body* body = definition(class_name, first == nullptr ? open : token_.where);
    body->broken |= stopped_ || diagnostics_.errors().size() > errors;  // the lexer's too
    if (last != nullptr) last->otherwise = {class_name, body};
    if (first == nullptr) first = body;
    last = body;
  } while (token_.is("||"));
  if (!accept("}")) {
    if (!lexer_.unterminated()) error(open, "unterminated '{'; expected '}'");
    last->broken = true;
  }
  --nesting_;
  return first;
}

Body* StatementParser::definition(const std::string& class_name, const Location& open) {
  Body* body = &program_.bodies.emplace_back();
  body->where = open;
  body->depth = static_cast<int>(frames_.size());
  frames_.push_back({body, class_name, {}, {}, {}, {}, {}});
  parameters();
  statements();
  finish_names();
  finish_groups();
  if (!body->broken) {
    check_sequence(body->inputs, "input", open);
    check_sequence(body->outputs, "output", open);
  }
  frames_.pop_back();
  return body;
}

/** `|| ... }`: what does not fit the definitions before is an element of the class that has had this name so far. */
void StatementParser::extend(Body& last, const std::string& class_name) {
  const Token dots = token_;
  next();
  const std::optional<ElementClass> earlier = find_class(class_name);
  if (earlier) last.otherwise = *earlier;
  if (!earlier)
    error(dots.where, class_name.empty() ? "'...' extends nothing; expected it in an elementclass statement"
                                         : "no element class " + in_quotes(class_name) + " to extend by '...'");
  if (token_.is("}")) return;
  unexpected("'}' after '...'");
  recover(true);
}

bool StatementParser::add_variable(const std::string& name, const Location& where) {
  const auto [earlier, is_new] = frame().variables.try_emplace(name, where);
  if (!is_new) error(where, "variable " + in_quotes("$" + name) + " is already defined at " + earlier->second.text());
  return is_new;
}

void StatementParser::parameters() {
  const auto at_parameter = [&] {
    Lexer ahead = lexer_;
    return token_.kind == Token::kVariable || (token_.kind == Token::kName && ahead.next().kind == Token::kVariable);
  };
  if (accept("|") || !at_parameter()) return;
  std::vector<Parameter>& all = frame().body->parameters;
  do {
    Parameter parameter;
    if (!at_parameter()) break;
    if (!all.empty() && all.back().keyword == "__REST__") {
      error(token_.where, "expected '|' after the __REST__ parameter");
    } else if (!all.empty() && !all.back().keyword.empty() && token_.kind == Token::kVariable) {
      error(token_.where, "parameter " + token_.description() + " after a keyword; expected it before all keywords");
    }
    if (token_.kind == Token::kName) {
      parameter.keyword = token_.text;
      if (!is_keyword_parameter(token_.text)) unexpected("a keyword in capitals");
      for (const Parameter& earlier : all)
        if (earlier.keyword == parameter.keyword)
          error(token_.where, "keyword " + token_.description() + " is given twice; expected another one");
      next();
    }
    parameter.variable = token_.text;
    if (all.size() == kMaxParameters) {
      return stop(token_.where, "more than " + std::to_string(kMaxParameters) + " parameters");
    }
    if (add_variable(parameter.variable, token_.where)) all.push_back(parameter);
    next();
  } while (accept(","));
  if (accept("|")) return;
  unexpected("'|' after the parameters of a compound element");
  recover();
}

}  // namespace heddle::click
