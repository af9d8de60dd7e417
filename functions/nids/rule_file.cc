#include "functions/nids/rule_file.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "core/mistakes.h"
#include "core/text_file.h"
#include "functions/nids/rule_numbers.h"

namespace heddle::nids {
namespace {

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

constexpr uint32_t kUdpNumber = 17;

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
      : name_(name), skip_(skip_unsupported), variables_(variables), mistakes_(name, errors) {}

  RuleSet parse(std::string_view text) {
    for (size_t number = 0; !text.empty();) {
      const size_t first = number + 1;
      const std::string line = take_line(text, number);
      read_line(trimmed(line), first);
    }
    std::erase_if(result_.rules, [](const Signature& rule) { return rule.sid == 0; });
    return std::move(result_);
  }

 private:
  void read_line(std::string_view line, size_t number) {
    if (line.empty() || line.front() == '#') return;
    std::string problem;
    if (read_variable(line, variables_, problem)) {
      if (!problem.empty()) mistakes_.add(number, problem);
      return;
    }
    Signature rule;
    rule.line = number;
    const auto refusal = parse_rule(line, variables_, rule);
    const std::string name = rule.name(), before = name.empty() ? "" : name + ": ";
    if (refusal && refusal->unsupported) {
      result_.unsupported.push_back(
          {number, name, refusal->feature.empty() ? refusal->why : refusal->feature,
           format("%s:%zu: %s%s", name_.c_str(), number, before.c_str(), refusal->why.c_str())});
      if (!skip_) mistakes_.add(number, before + refusal->why);
    } else if (refusal) {
      mistakes_.add(number, before + refusal->why);
    } else {
      add(std::move(rule));
    }
  }

  void add(Signature rule) {
    const auto [there, is_new] = places_.emplace(std::pair(rule.generator, rule.sid), result_.rules.size());
    if (!is_new) {
      Signature& other = result_.rules[there->second];
      if (other.revision >= rule.revision)
        return mistakes_.add(rule.line, rule.name() + format(": is that of line %zu already", other.line));
      result_.outdated.push_back(std::move(other));
      other.sid = 0;
      there->second = result_.rules.size();
    }
    result_.rules.push_back(std::move(rule));
  }

  const std::string& name_;
  bool skip_;
  Variables& variables_;
  Mistakes mistakes_;
  RuleSet result_;                                          // those without a sid are outdated
  std::map<std::pair<uint32_t, uint32_t>, size_t> places_;  // there, by gid and sid
};

std::optional<Refusal> parse_start(std::string_view action, std::string_view protocol, Signature& rule) {
  constexpr Word<Action> kActions[] = {
      {"alert", Action::alert}, {"pass", Action::pass}, {"drop", Action::drop}, {"reject", Action::reject}};
  // Of Snort 2, Snort 3 and Suricata.
  constexpr std::string_view kOtherActions[] = {"activate", "block", "dynamic",    "log",       "react",
                                                "rewrite",  "sdrop", "rejectboth", "rejectdst", "rejectsrc"};
  constexpr Word<Protocol> kKnown[] = {
      {"ip", Protocol::ip},          {"any", Protocol::ip},  {"tcp", Protocol::tcp},   {"tcp-pkt", Protocol::tcp},
      {"tcp-stream", Protocol::tcp}, {"udp", Protocol::udp}, {"icmp", Protocol::icmp}, {"icmpv4", Protocol::icmp},
      {"icmpv6", Protocol::icmp},    {"ip4", Protocol::ip},  {"ipv4", Protocol::ip},   {"ip6", Protocol::ip},
      {"ipv6", Protocol::ip}};
  // Those of one version.
  const Word<FieldTest> kTests[] = {
      {"icmpv4", {Field::ip_protocol, Ranges(kIcmpNumber, kIcmpNumber)}},
      {"icmpv6", {Field::ip_protocol, Ranges(kIcmp6Number, kIcmp6Number)}},
      {"ip4", {Field::version, Ranges(4, 4)}},
      {"ipv4", {Field::version, Ranges(4, 4)}},
      {"ip6", {Field::version, Ranges(6, 6)}},
      {"ipv6", {Field::version, Ranges(6, 6)}},
      {"dns", {Field::ip_protocol, Ranges({{kTcpNumber, kTcpNumber}, {kUdpNumber, kUdpNumber}})}}};
  if (std::ranges::find(kOtherActions, action) != std::end(kOtherActions))
    return Refusal{"the action " + in_quotes(action) + " is not supported: alert, pass, drop and reject are", true};
  const auto* const what = std::ranges::find(kActions, action, &Word<Action>::word);
  if (what == std::end(kActions)) return Refusal{in_quotes(action) + " is not an action: alert, pass, drop or reject"};
  rule.action = what->meaning;
  const auto* const which = std::ranges::find(kKnown, protocol, &Word<Protocol>::word);
  const Application application = application_named(protocol);
  if (which == std::end(kKnown) && application == Application::none)
    return Refusal{"protocol " + in_quotes(protocol) +
                       " is not supported: ip, any, ipv4, ipv6, tcp, tcp-pkt, tcp-stream, udp, icmp, "
                       "icmpv4, icmpv6, http, smtp, ftp, ssh, smb, tls and dns are",
                   true};
  rule.protocol = application == Application::none  ? which->meaning
                  : application == Application::dns ? Protocol::ip
                                                    : Protocol::tcp;
  if (application != Application::none)
    if (auto refusal = parse_application(protocol, rule)) return refusal;
  if (const auto* const test = std::ranges::find(kTests, protocol, &Word<FieldTest>::word); test != std::end(kTests))
    rule.fields.push_back(test->meaning);
  using Streams = Signature::Streams;
  const auto is_for = [&](Streams streams, Streams other, const char* word) -> std::optional<Refusal> {
    if (rule.streams == other)
      return Refusal{"it is for " + std::string(protocol) + ", but flow has " + in_quotes(word)};
    rule.streams = streams;
    return std::nullopt;
  };
  if (protocol == "tcp-pkt") return is_for(Streams::never, Streams::only, "only_stream");  // whatever STREAM says
  if (protocol == "tcp-stream") return is_for(Streams::only, Streams::never, "no_stream");
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

  const std::string action = lower_case(take_word(header)), protocol = lower_case(take_word(header));
  const std::string_view sources = take_list(header), source_ports = take_list(header), arrow = take_word(header),
                         destinations = take_list(header), destination_ports = take_list(header);
  if (arrow != "->" && arrow != "<>")
    return Refusal{"expected -> or <> between source and destination, not " + in_quotes(arrow)};
  if (destination_ports.empty() || !trimmed(header).empty())
    return Refusal{"expected ACTION PROTOCOL SOURCE PORTS -> DESTINATION PORTS before the parenthesis"};
  rule.both_ways = arrow == "<>";
  if (auto refusal = parse_start(action, protocol, rule)) return refusal;
  if (refused) return refused;
  if (!rule.sent.empty() && rule.protocol != Protocol::tcp && rule.protocol != Protocol::ip)
    return Refusal{"it has stream_size, which is for TCP, but is for " + protocol};
  if (!rule.sent.empty()) rule.protocol = Protocol::tcp;
  if (auto refusal = check_application(rule, protocol)) return refusal;
  if (rule.streams == Signature::Streams::only && !rule.reads_streams())
    return Refusal{(protocol == "tcp-stream" ? "it is for tcp-stream" : "flow has 'only_stream'") +
                       std::string(", but it looks for nothing in a TCP connection as a whole"),
                   true};
  if (auto refusal = parse_addresses(sources, variables, rule.sources)) return refusal;
  if (auto refusal = parse_addresses(destinations, variables, rule.destinations)) return refusal;
  if (auto refusal = parse_ports(source_ports, variables, rule.source_ports)) return refusal;
  if (auto refusal = parse_ports(destination_ports, variables, rule.destination_ports)) return refusal;
  return narrow_ports(rule);
}

RuleSet parse_rules(const std::string& name, std::string_view text, bool skip_unsupported, Variables& variables,
                    std::vector<std::string>& errors) {
  return Parser(name, skip_unsupported, variables, errors).parse(text);
}

Classification parse_classification(const std::string& name, std::string_view text, std::vector<std::string>& errors) {
  Classification classes;
  Mistakes mistakes(name, errors);
  each_line(text, [&](std::string_view line, size_t number) {
    line = trimmed(line);
    if (line.empty() || line.front() == '#') return;
    std::string_view rest = line;
    const bool begins = take_word(rest) == "config" && take_word(rest) == "classification:";
    const size_t first = rest.find(','), last = rest.rfind(',');
    const std::string_view classtype = begins && first != last ? trimmed(rest.substr(0, first)) : "";
    const std::string_view priority = classtype.empty() ? "" : trimmed(rest.substr(last + 1));
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(priority.data(), priority.data() + priority.size(), value);
    if (error != std::errc() || end != priority.data() + priority.size() || value < 1 || value > kLowestPriority)
      return mistakes.add(number,
                          in_quotes(line) + " is not 'config classification: NAME,DESCRIPTION,PRIORITY' (1-255)");
    classes[std::string(classtype)] = {std::string(trimmed(rest.substr(first + 1, last - first - 1))), value};
  });
  return classes;
}

void classify(std::vector<Signature>& rules, const Classification& classes) {
  for (Signature& rule : rules) {
    const auto found = classes.find(rule.classtype);
    if (found == classes.end()) continue;
    rule.category = found->second.description;
    if (!rule.priority) rule.priority = found->second.priority;
  }
}

std::string summary_of(const std::vector<LeftOut>& rules) {
  constexpr size_t kMaxFeatures = 20, kMaxRules = 3;
  std::map<std::string_view, std::vector<const LeftOut*>> by_feature;
  for (const LeftOut& rule : rules) by_feature[rule.feature].push_back(&rule);
  std::vector<std::pair<std::string_view, std::vector<const LeftOut*>>> list(by_feature.begin(), by_feature.end());
  std::ranges::stable_sort(list, std::greater(), [](const auto& entry) { return entry.second.size(); });
  std::string text;
  for (size_t f = 0; f < std::min(list.size(), kMaxFeatures); ++f) {
    const auto& [feature, asking] = list[f];
    text += format("%zu: %s (", asking.size(), std::string(feature).c_str());
    for (size_t k = 0; k < std::min(asking.size(), kMaxRules); ++k) {
      text += format("%sline %zu", k == 0 ? "" : "; ", asking[k]->line);
      if (!asking[k]->name.empty()) text += ", " + asking[k]->name;
    }
    text += asking.size() > kMaxRules ? "; ...)\n" : ")\n";
  }
  if (list.size() > kMaxFeatures) text += format("... and %zu more\n", list.size() - kMaxFeatures);
  return text;
}

std::string unset_bits(const std::vector<Signature>& rules) {
  constexpr size_t kMaxNames = 3;
  using Bit = std::tuple<bool, bool, std::string_view>;  // of a flow, of a pair, its name
  const auto bit_of = [](const BitOption& option, const std::string& name) {
    return Bit(option.of == BitOption::Of::flow, option.of == BitOption::Of::pair, name);
  };
  std::set<Bit> set;
  for (const Signature& rule : rules)
    for (const BitOption& option : rule.bits)
      if (option.kind == BitOption::Kind::set || option.kind == BitOption::Kind::toggle)
        set.insert(bit_of(option, option.names[0]));
  std::string text;
  size_t count = 0;
  for (const Signature& rule : rules)
    for (const BitOption& option : rule.bits)
      for (const std::string& name : option.names)
        if (option.kind == BitOption::Kind::is_set && set.insert(bit_of(option, name)).second && ++count <= kMaxNames)
          text += format("%s%s: line %zu, %s", count == 1 ? "" : "; ", name.c_str(), rule.line, rule.name().c_str());
  if (count == 0) return "";
  return format("%zu bit%s for which rules ask (%s%s)", count, count == 1 ? "" : "s", text.c_str(),
                count > kMaxNames ? "; ..." : "");
}

std::string text_of(size_t count, const Signature& first) {
  return format("%zu rule%s (line %zu, %s%s)", count, count == 1 ? "" : "s", first.line, first.name().c_str(),
                count == 1 ? "" : "; ...");
}

RuleSet read_rule_file(const std::string& path, bool skip_unsupported, Variables& variables,
                       std::vector<std::string>& errors) {
  return parse_rules(path, read_text_file(path, "rule file"), skip_unsupported, variables, errors);
}

}  // namespace heddle::nids
