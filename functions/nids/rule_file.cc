#include "functions/nids/rule_file.h"

#include <algorithm>
#include <unordered_map>

#include "core/error.h"
#include "core/text_file.h"

namespace heddle::nids {
namespace {

constexpr size_t kMaxErrors = 100;

/** The next line with those that continue it, joined by a blank; `number` is then the last one's. A comment ends with
 *  its line. */
std::string take_line(std::string_view& text, size_t& number) {
  std::string line;
  for (bool more = true; more && !text.empty();) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view piece = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (piece.ends_with('\r')) piece.remove_suffix(1);
    more = piece.ends_with('\\') && !(line.empty() && trimmed(piece).starts_with('#'));
    if (more) piece.remove_suffix(1);
    line.append(piece).append(more ? " " : "");
  }
  return line;
}

/** Takes an address or port list: to the next blank outside of brackets. */
std::string_view take_list(std::string_view& text) {
  text = trimmed(text);
  int depth = 0;
  size_t end = 0;
  for (; end < text.size() && (depth > 0 || !is_blank(text[end])); ++end)
    depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
  const std::string_view list = text.substr(0, end);
  text.remove_prefix(end);
  return list;
}

template <class T>
struct Word {
  std::string_view word;
  T meaning;
};

/** Reads lines `var NAME VALUE`; false if it is none. */
bool read_variable(std::string_view line, Variables& variables, std::string& problem) {
  const std::string_view kind = take_word(line);
  if (kind != "var" && kind != "ipvar" && kind != "portvar") return false;
  const std::string_view name = take_word(line), value = trimmed(line);
  if (name.empty() || value.empty())
    problem = "expected " + std::string(kind) + " NAME VALUE";
  else
    variables[std::string(name)] = std::string(value);
  return true;
}

class Parser {
 public:
  Parser(const std::string& name, bool skip_unsupported, Variables& variables, std::vector<std::string>& errors)
      : name_(name), skip_(skip_unsupported), variables_(variables), errors_(errors) {}

  RuleSet parse(std::string_view text) {
    for (size_t number = 0; !text.empty();) {
      const size_t first = number + 1;
      const std::string line = take_line(text, number);
      read_line(trimmed(line), first);
    }
    if (bad_ > kMaxErrors) errors_.push_back(format("%s: ... and %zu more", name_.c_str(), bad_ - kMaxErrors));
    return std::move(result_);
  }

 private:
  void read_line(std::string_view line, size_t number) {
    if (line.empty() || line.front() == '#') return;
    std::string problem;
    if (read_variable(line, variables_, problem)) {
      if (!problem.empty()) refuse(number, problem);
      return;
    }
    Signature rule;
    rule.line = number;
    const auto refusal = parse_rule(line, variables_, rule);
    const std::string sid = rule.sid != 0 ? format("sid %u: ", rule.sid) : "";
    if (refusal && refusal->unsupported) {
      result_.unsupported.push_back(format("%s:%zu: %s%s", name_.c_str(), number, sid.c_str(), refusal->why.c_str()));
      if (!skip_) refuse(number, sid + refusal->why);
    } else if (refusal) {
      refuse(number, sid + refusal->why);
    } else if (const auto [there, is_new] = lines_.emplace(rule.sid, number); !is_new) {
      refuse(number, format("sid %u: is that of line %zu already", rule.sid, there->second));
    } else {
      result_.rules.push_back(std::move(rule));
    }
  }
  void refuse(size_t number, const std::string& why) {
    if (++bad_ <= kMaxErrors) errors_.push_back(format("%s:%zu: %s", name_.c_str(), number, why.c_str()));
  }

  const std::string& name_;
  bool skip_;
  Variables& variables_;
  std::vector<std::string>& errors_;
  RuleSet result_;
  std::unordered_map<uint32_t, size_t> lines_;  // by sid
  size_t bad_ = 0;
};

std::optional<Refusal> parse_start(std::string_view action, std::string_view protocol, Signature& rule) {
  constexpr Word<Action> kActions[] = {
      {"alert", Action::alert}, {"pass", Action::pass}, {"drop", Action::drop}, {"reject", Action::reject}};
  constexpr Word<Protocol> kKnown[] = {{"ip", Protocol::ip},       {"tcp", Protocol::tcp},   {"udp", Protocol::udp},
                                       {"tcp-pkt", Protocol::tcp}, {"icmp", Protocol::icmp}, {"any", Protocol::ip}};
  const auto* const what = std::ranges::find(kActions, action, &Word<Action>::word);
  if (what == std::end(kActions)) return Refusal{in_quotes(action) + " is not an action: alert, pass, drop or reject"};
  rule.action = what->meaning;
  const auto* const which = std::ranges::find(kKnown, protocol, &Word<Protocol>::word);
  if (which == std::end(kKnown))
    return Refusal{"protocol " + in_quotes(protocol) + " is not supported: ip, tcp, udp and icmp are", true};
  rule.protocol = which->meaning;
  if (protocol == "tcp-pkt") {  // each packet by itself, whatever STREAM says
    if (rule.streams == Signature::Streams::only) return Refusal{"it is for tcp-pkt, but flow has 'only_stream'"};
    rule.streams = Signature::Streams::never;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> parse_rule(std::string_view text, const Variables& variables, Signature& rule) {
  const size_t open = text.find('(');
  text = trimmed(text);
  if (open == text.npos || !text.ends_with(')'))
    return Refusal{in_quotes(text) +
                   " is not a rule: expected ACTION PROTOCOL SOURCE PORTS -> DESTINATION PORTS (OPTIONS)"};
  std::string_view header = text.substr(0, text.find('('));
  std::string_view options = text.substr(header.size() + 1);
  options.remove_suffix(1);
  // The options first: a refusal then has its sid.
  const auto refused = parse_options(options, rule);

  const std::string_view action = take_word(header), protocol = take_word(header);
  const std::string_view sources = take_list(header), source_ports = take_list(header), arrow = take_word(header),
                         destinations = take_list(header), destination_ports = take_list(header);
  if (arrow != "->" && arrow != "<>")
    return Refusal{"expected -> or <> between source and destination, not " + in_quotes(arrow)};
  if (destination_ports.empty() || !trimmed(header).empty())
    return Refusal{"expected ACTION PROTOCOL SOURCE PORTS -> DESTINATION PORTS before the parenthesis"};
  rule.both_ways = arrow == "<>";
  if (auto refusal = parse_start(action, protocol, rule)) return refusal;
  if (refused) return refused;
  if (auto refusal = parse_addresses(sources, variables, rule.sources)) return refusal;
  if (auto refusal = parse_addresses(destinations, variables, rule.destinations)) return refusal;
  if (auto refusal = parse_ports(source_ports, variables, rule.source_ports)) return refusal;
  return parse_ports(destination_ports, variables, rule.destination_ports);
}

RuleSet parse_rules(const std::string& name, std::string_view text, bool skip_unsupported, Variables& variables,
                    std::vector<std::string>& errors) {
  return Parser(name, skip_unsupported, variables, errors).parse(text);
}

RuleSet read_rule_file(const std::string& path, bool skip_unsupported, Variables& variables,
                       std::vector<std::string>& errors) {
  return parse_rules(path, read_text_file(path, "rule file"), skip_unsupported, variables, errors);
}

}  // namespace heddle::nids
