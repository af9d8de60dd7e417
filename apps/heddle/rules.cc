// `heddle rules`: checks, converts and explains rules of packet classification, without a chain.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/heddle/commands.h"
#include "convert/rules/check.h"
#include "convert/rules/packets.h"
#include "core/error.h"
#include "core/output_file.h"
#include "core/text_file.h"
#include "core/warnings.h"
#include "functions/classifier/classifier.h"
#include "functions/classifier/key_text.h"

namespace heddle {

using classifier::KeyReader;
using classifier::Layout;
using classifier::ListedRule;
using classifier::Rule;
using classifier::RuleList;
using nlohmann::json;

namespace {

constexpr size_t kUsualMisses = 20, kMaxLines = 8;

std::string line_of(const ListedRule& rule) { return "line " + std::to_string(rule.line); }

/** "rule 7 (line 12)" */
std::string name_of(const RuleList& list, size_t rule) {
  const ListedRule& listed = list.rules[rule];
  return format("rule %zu (line %zu)", listed.number == classifier::kNoRule ? rule : size_t{listed.number},
                listed.line);
}

void print(const json& value) {
  std::printf("%s\n", value.dump(2, ' ', false, json::error_handler_t::replace).c_str());
}

void warn_of_ignored(const std::string& file, const RuleList& list) {
  for (size_t i = 0; i < std::min(list.ignored.size(), kMaxLines); ++i)
    std::fprintf(stderr, "%s:%zu: warning: %s\n", file.c_str(), list.ignored[i].first, list.ignored[i].second.c_str());
  if (list.ignored.size() > kMaxLines)
    std::fprintf(stderr, "%s: warning: and %zu more prefixes with such bits\n", file.c_str(),
                 list.ignored.size() - kMaxLines);
}

void warn_of_answered(const std::string& file, const RuleList& list) {
  for (const size_t line : list.answered)
    std::fprintf(stderr, "%s:%zu: warning: reject becomes deny: senders get no answer\n", file.c_str(), line);
}

void warn_of_impossible(const std::string& file, const RuleList& list) {
  for (const size_t line : list.impossible)
    std::fprintf(stderr, "%s:%zu: warning: no packet can match this rule: what it asks for contradicts itself\n",
                 file.c_str(), line);
  for (const size_t line : list.unreached)
    std::fprintf(stderr, "%s:%zu: warning: no packet that comes to its chain and to it can match this rule\n",
                 file.c_str(), line);
}

std::string text_of_lines(const std::set<size_t>& lines) {
  std::string text;
  size_t listed = 0;
  for (const size_t line : lines) {
    if (++listed > kMaxLines) return text + format(" and %zu more", lines.size() - kMaxLines);
    text += (text.empty() ? "line " : ", line ") + std::to_string(line);
  }
  return text;
}

/** A firewall without them lets more through than the one that it was made of. */
void warn_of_skipped_drops(const std::string& file, const RuleList& list) {
  std::set<size_t> lines;
  for (const auto& one : list.skipped)
    if (one.may_drop) lines.insert(one.line);
  if (lines.empty()) return;
  const char* policy = !list.policy ? "" : *list.policy == classifier::kDeny ? ", deny" : ", allow";
  std::fprintf(stderr,
               "%s: WARNING: %zu of the skipped lines drop packets, return, or lead to chains that may drop some (%s); "
               "here these packets "
               "go on to the rules behind them and to the policy%s\n",
               file.c_str(), lines.size(), text_of_lines(lines).c_str(), policy);
}

/** The same for chains that are not converted. */
void warn_of_other_drops(const std::string& file, const RuleList& list) {
  if (list.other_drops.empty()) return;
  std::fprintf(stderr,
               "%s: WARNING: %zu lines of other chains or tables through which packets also go drop some, or may (%s); "
               "they are left out, and here nothing drops these packets: write rules for them before the others\n",
               file.c_str(), list.other_drops.size(), text_of_lines(list.other_drops).c_str());
}

/** The kernel walks IPv6's extension headers, rules here do not: packets pass by a rule unless those with such headers
 *  are dropped before. */
void warn_of_protocols(const std::string& file, const RuleList& list) {
  if (list.by_protocol.empty()) return;
  std::fprintf(stderr,
               "%s: warning: for IPv6 %zu of the lines ask for a protocol or what is in its header (%s); the kernel "
               "finds it behind extension headers, too, rules here only right behind the IPv6 header. So that nothing "
               "passes by these rules so, drop next headers 0, 43, 44, 51 and 60 with rules before them: "
               "'@::/0 ::/0 0 : 65535 0 : 65535 0x00/0xFF deny', and the same with 0x2b/0xFF, 0x2c/0xFF, 0x33/0xFF "
               "and 0x3c/0xFF\n",
               file.c_str(), list.by_protocol.size(), text_of_lines(list.by_protocol).c_str());
}

/** One warning a line, of which several rules may have come. */
void warn_of_shadows(const std::string& file, const RuleList& list, const classifier::Shadows& shadows) {
  std::map<size_t, size_t> rules;  // by line
  for (const ListedRule& rule : list.rules) ++rules[rule.line];
  std::map<size_t, std::pair<size_t, std::set<size_t>>> shadowed;  // by line: how many, and by which lines
  for (const auto& [rule, by] : shadows.found) {
    auto& [count, lines] = shadowed[list.rules[rule].line];
    ++count;
    for (const size_t before : by)
      if (lines.size() < kMaxLines) lines.insert(list.rules[before].line);
  }
  for (const auto& [line, found] : shadowed) {
    const auto& [count, by] = found;
    std::string lines;
    for (const size_t one : by) lines += (lines.empty() ? "line " : ", line ") + std::to_string(one);
    const std::string what =
        count == rules[line]
            ? "no packet can hit this rule: those before it take all of its packets"
            : format(
                  "of the %zu rules that this line is, no packet can hit %zu: those before take all of their packets",
                  rules[line], count);
    std::fprintf(stderr, "%s:%zu: warning: %s (%s)\n", file.c_str(), line, what.c_str(), lines.c_str());
  }
  std::set<size_t> undecided;
  for (const size_t rule : shadows.undecided) undecided.insert(list.rules[rule].line);
  if (!undecided.empty())
    std::fprintf(stderr, "%s: warning: whether rules before take all packets of %zu rules is not decided (%s)\n",
                 file.c_str(), shadows.undecided.size(), text_of_lines(undecided).c_str());
}

/** Whether the element must be told to look at the version, since no rule asks for it. */
bool needs_version(const RuleList& list) {
  return list.both_versions && std::ranges::none_of(list.rules, [](const ListedRule& rule) {
           const auto& more = rule.rule.more;
           return std::ranges::find(more, classifier::kIpVersion, &classifier::Condition::place) != more.end();
         });
}

/** Answers for packets. */
class Explainer {
 public:
  Explainer(RuleList list, size_t most_misses) : list_(std::move(list)), most_misses_(most_misses) {
    layout_ = classifier::layout_of(list_);
    for (ListedRule& rule : list_.rules) complete(rule.rule, layout_);
  }

  const Layout& layout() const { return layout_; }

  /** The rule that the values hit; the number of rules if none. */
  size_t hit(const std::vector<uint32_t>& values) const {
    size_t rule = 0;
    while (rule < list_.rules.size() && !matches(list_.rules[rule].rule, values, layout_)) ++rule;
    return rule;
  }

  json answer(const std::vector<uint32_t>& values, bool with_misses) const {
    const size_t rule = hit(values);
    json result{{"packet", text_of_key(values, layout_)}, {"rule", nullptr}};
    if (rule < list_.rules.size()) {
      const ListedRule& listed = list_.rules[rule];
      result["rule"] = listed.number == classifier::kNoRule ? rule : size_t{listed.number};
      result["line"] = listed.line;
      result["action"] = classifier::action_text(listed.rule.next);
    } else if (list_.policy) {
      result["action"] = classifier::action_text(*list_.policy);
    }
    if (!with_misses) return result;
    result["missed"] = json::array();
    for (size_t before = 0; before < rule && before < most_misses_; ++before) {
      const ListedRule& listed = list_.rules[before];
      result["missed"].push_back({{"rule", listed.number == classifier::kNoRule ? before : size_t{listed.number}},
                                  {"line", listed.line},
                                  {"why", why_not(listed.rule, values, layout_)}});
    }
    result["more_missed"] = rule - std::min(rule, most_misses_);
    return result;
  }

  /** The same for people. */
  std::string text(const std::vector<uint32_t>& values) const {
    const size_t rule = hit(values);
    std::string result = text_of_key(values, layout_) + "\n";
    if (rule < list_.rules.size()) {
      const Rule& found = list_.rules[rule].rule;
      result += "hits " + name_of(list_, rule) + ": " + text_of(found, classifier::action_text(found.next)) + "\n";
    } else {
      result += "hits no rule" + policy() + "\n";
    }
    for (size_t before = 0; before < rule && before < most_misses_; ++before)
      result += "misses " + name_of(list_, before) + ": " + why_not(list_.rules[before].rule, values, layout_) + "\n";
    if (rule > most_misses_) result += format("and %zu more rules before it; --all prints them\n", rule - most_misses_);
    return result;
  }

  /** One line. */
  std::string summary(const std::vector<uint32_t>& values) const {
    const size_t rule = hit(values);
    if (rule == list_.rules.size()) return text_of_key(values, layout_) + ": no rule" + policy();
    const std::string action = classifier::action_text(list_.rules[rule].rule.next);
    return text_of_key(values, layout_) + ": " + name_of(list_, rule) + (action.empty() ? "" : ", " + action);
  }

 private:
  std::string policy() const {
    return list_.policy ? "; the file's policy is " + classifier::action_text(*list_.policy) : "";
  }

  RuleList list_;
  size_t most_misses_;
  Layout layout_;
};

std::string how_many(const RuleList& list) {
  return std::to_string(list.rules.size()) + (list.rules.size() == 1 ? " rule" : " rules");
}

}  // namespace

void warn_of_hidden_rules(const Router& router) {
  constexpr size_t kMost = 50'000;
  constexpr classifier::Patience kPatience{1'000'000, 20'000'000};
  for (const Node& node : router.nodes) {
    const auto* element = dynamic_cast<const RuleElement*>(node.element.get());
    if (element == nullptr || element->rules().size() > kMost) continue;
    std::vector<ListedRule> parts;
    for (auto& part : element->rules().sorted()) parts.push_back({std::move(part.rule), part.number, 0});
    std::map<uint32_t, size_t> left;  // parts by number, but for those that no packet can hit
    for (const ListedRule& part : parts) ++left[part.number];
    for (const auto& one : find_shadows(parts, kPatience).found) --left[parts[one.rule].number];
    std::erase_if(left, [](const auto& one) { return one.second > 0; });
    if (left.empty()) continue;
    std::string numbers;
    for (auto one = left.begin(); one != left.end(); ++one) {
      if (numbers.size() > 60) {
        numbers += ", ...";
        break;
      }
      numbers += (numbers.empty() ? "" : ", ") + std::to_string(one->first);
    }
    warn(
        format("heddle: %s: warning: no packet can hit %zu of its %zu rules, for others before take them all (%s); "
               "`heddle rules "
               "check` says for a file which these are",
               element->name.c_str(), left.size(), element->rules().size(), numbers.c_str()));
  }
}

RuleList RulesCommand::read() const {
  const std::string name = file == "-" ? "standard input" : file;
  std::vector<std::string> errors;
  RuleList list = read_rule_list(name, read_text_file(file == "-" ? "/dev/stdin" : file, "rule file"), options, errors);
  for (const auto& error : errors) std::fprintf(stderr, "%s\n", error.c_str());
  if (!errors.empty()) throw Error("'" + name + "' has mistakes; none of its rules counts");
  for (const auto& [line, problem, may_drop] : list.skipped)
    std::fprintf(stderr, "%s:%zu: skipped: %s\n", name.c_str(), line, problem.c_str());
  warn_of_skipped_drops(name, list);
  warn_of_other_drops(name, list);
  warn_of_protocols(name, list);
  return list;
}

int RulesCommand::check() const {
  const RuleList list = read();
  const auto shadows = classifier::find_shadows(list.rules);
  if (json) {
    nlohmann::json found = nlohmann::json::array(), undecided = found, skipped = found, skipped_drops = found;
    for (const auto& [rule, by] : shadows.found) {
      nlohmann::json lines = nlohmann::json::array();
      for (const size_t before : by) lines.push_back(list.rules[before].line);
      found.push_back({{"line", list.rules[rule].line}, {"by_lines", lines}});
    }
    for (const size_t rule : shadows.undecided) undecided.push_back(list.rules[rule].line);
    for (const auto& one : list.skipped) {
      skipped.push_back(one.line);
      if (one.may_drop) skipped_drops.push_back(one.line);
    }
    print({{"file", file},
           {"format", list.format},
           {"chain", list.chain},
           {"rules", list.rules.size()},
           {"policy", list.policy ? nlohmann::json(classifier::action_text(*list.policy)) : nlohmann::json()},
           {"left_out", list.left_out},
           {"skipped", skipped},
           {"skipped_drops", skipped_drops},
           {"other_drops", list.other_drops},
           {"by_protocol", list.by_protocol},
           {"answered", list.answered},
           {"impossible", list.impossible},
           {"unreached", list.unreached},
           {"shadowed", found},
           {"undecided", undecided}});
    return 0;
  }
  warn_of_ignored(file, list);
  warn_of_answered(file, list);
  warn_of_impossible(file, list);
  warn_of_shadows(file, list, shadows);
  std::printf("%s (%s%s%s), %zu of them shadowed", how_many(list).c_str(), list.format.c_str(),
              list.chain.empty() ? "" : ", chain ", list.chain.c_str(), shadows.found.size());
  if (!shadows.undecided.empty()) std::printf(", %zu not decided", shadows.undecided.size());
  if (list.left_out > 0) std::printf("; %zu of other chains or without a verdict left out", list.left_out);
  if (!list.skipped.empty()) std::printf("; %zu skipped", list.skipped.size());
  std::printf("\n");
  return 0;
}

int RulesCommand::convert() const {
  const RuleList list = read();
  warn_of_answered(file, list);
  warn_of_impossible(file, list);
  const std::string policy = list.policy ? "DEFAULT " + classifier::action_text(*list.policy) : "",
                    fields = needs_version(list) ? "FIELDS version" : "";
  std::string text = "# " + how_many(list) + " of " + list.format;
  if (!list.chain.empty()) text += ", chain " + list.chain;
  if (!policy.empty()) text += "; packets that hit none: " + policy;
  if (!fields.empty()) text += "; packets of IPv4 and IPv6: " + fields;
  text += "\n";
  for (const ListedRule& rule : list.rules) {
    if (rule.number != classifier::kNoRule) text += std::to_string(rule.number) + " ";
    text += text_of(rule.rule, classifier::action_text(rule.rule.next)) + "  # " + line_of(rule) + "\n";
  }
  write_output(output, text);
  const std::string arguments = policy + (policy.empty() || fields.empty() ? "" : ", ") + fields;
  const std::string skipped = list.skipped.empty() ? "" : format(", %zu skipped", list.skipped.size());
  std::fprintf(stderr, "%s; %zu of other chains or without a verdict left out%s%s%s\n", how_many(list).c_str(),
               list.left_out, skipped.c_str(), arguments.empty() ? "" : "; give the element ", arguments.c_str());
  return 0;
}

int RulesCommand::explain() const {
  std::error_code unreadable;
  const bool is_capture = asked.size() == 1 && std::filesystem::exists(asked[0], unreadable);
  if (!is_capture && packet != 0) throw Error("--packet is for captures: " + in_quotes(asked[0]) + " is none");
  if (is_capture && packet == 0 && all) throw Error("of a capture --all is for one packet; give --packet N as well");
  const Explainer explainer(read(), all ? SIZE_MAX : kUsualMisses);
  if (!is_capture) {
    std::string text;
    for (const auto& word : asked) text += word + " ";
    if (asked.size() == 1 && text.find(' ') == text.size() - 1)
      throw Error(in_quotes(asked[0]) + " is neither a capture that exists nor the fields of a packet");
    const auto values = parse_key(text, explainer.layout());
    if (json)
      print(explainer.answer(values, true));
    else
      std::printf("%s", explainer.text(values).c_str());
    return 0;
  }
  const KeyReader reader(explainer.layout());
  nlohmann::json answers = nlohmann::json::array();
  uint64_t number = 0;
  const std::string damage = classifier::each_packet(asked[0], [&](const classifier::CapturedPacket& packet) {
    if (++number != this->packet && this->packet != 0) return;
    std::vector<uint32_t> values;
    const std::string problem = read_captured(reader, packet, values);
    const bool found = problem.empty();
    if (json) {
      nlohmann::json answer =
          found ? explainer.answer(values, this->packet != 0) : nlohmann::json{{"problem", problem}};
      answer["number"] = number;
      answers.push_back(answer);
    } else if (!found) {
      std::printf("packet %zu: %s\n", size_t{number}, problem.c_str());
    } else {
      std::printf("packet %zu: %s\n", size_t{number},
                  this->packet != 0 ? explainer.text(values).c_str() : explainer.summary(values).c_str());
    }
  });
  if (json) print(answers);
  if (!damage.empty()) throw Error(asked[0] + ": " + damage);
  if (this->packet > number) throw Error(format("there are %zu packets in '%s'", size_t{number}, asked[0].c_str()));
  return 0;
}

}  // namespace heddle
