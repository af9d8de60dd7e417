// Lines "ACTION PATTERN" of Click's IPFilter.

#include <algorithm>
#include <bit>

#include "convert/rules/rule_list.h"
#include "convert/rules/words.h"
#include "core/error.h"
#include "core/text_file.h"
#include "elements/ip/filter/parser.h"

namespace heddle::classifier {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 20;  // of a line

using ip_filter::Expression;
using ip_filter::Test;

/** The place of the bytes in which a mask of a word has bits, and by how many bits the word is to be shifted for it. */
std::pair<Place, int> place_of_test(const Test& test) {
  const int first = std::countl_zero(test.mask) / 8, last = 3 - std::countr_zero(test.mask) / 8;
  const bool network = test.base == Test::kNetwork;
  if (network && (test.offset == 12 || test.offset == 16))
    return {place_of(test.offset == 12 ? kSource : kDestination), 0};
  int from = first, length = last - first + 1;
  if (length == 2 && first == 1 && network) from = 0, length = 4;  // not split over two halves of a word
  if (length == 3) from = 0, length = 4;
  const int offset = test.offset + from, shift = 8 * (4 - from - length);
  if (offset < 0) throw Error("it asks for bytes before the header");
  const Place place{network ? Place::network : Place::transport, static_cast<uint8_t>(length),
                    static_cast<uint16_t>(offset)};
  constexpr std::pair<Place, Field> kFieldsThere[] = {{{Place::network, 1, 9}, kProtocol},
                                                      {{Place::transport, 2, 0}, kSourcePort},
                                                      {{Place::transport, 2, 2}, kDestinationPort}};
  for (const auto& [there, field] : kFieldsThere)
    if (place == there) return {place_of(field), shift};
  return {place, shift};
}

/** What a test asks for; false means: nothing matches. Lengths are not asked for: what a packet does not have counts
 *  as 0. */
Term term_of(const Test& test, bool negate) {
  if (test.about_length()) return negate ? Term{} : Term{{}};
  if (test.mask == 0) return (test.low == 0) != negate ? Term{{}} : Term{};
  const auto [place, shift] = place_of_test(test);
  Condition condition{place, test.mask >> shift, test.low >> shift, test.high >> shift};
  const uint32_t host = place.largest() & ~condition.mask;
  if (condition.low == condition.high) {
    condition = canonical(condition);
  } else if ((host & (host + 1)) == 0) {  // the mask is a prefix's
    condition = {place, place.largest(), condition.low, condition.high | host};
  } else {
    throw Error("it compares a part of a field that is not its beginning, with < or >");
  }
  if (!negate) return {{condition}};
  Term term;
  for (const Condition& other : negated(condition)) term.push_back({other});
  return term;
}

/** Takes an expression apart into alternatives. Counts what it does: choices in choices multiply. */
class Alternatives {
 public:
  /** Those of the expression, or of its opposite. */
  Term of(const Expression& expression, bool negate) {
    count(1);
    switch (expression.kind) {
      case Expression::kTrue:
        return negate ? Term{} : Term{{}};
      case Expression::kTest:
        return term_of(expression.test, negate);
      case Expression::kNot:
        return of(expression.parts[0], !negate);
      case Expression::kAll:
        return joined(expression, negate, !negate);
      case Expression::kAny:
        return joined(expression, negate, negate);
      case Expression::kChoose:
        break;
    }
    return chosen(expression, negate);
  }

 private:
  void count(size_t steps) {
    if ((steps_ += steps) > kMaxSteps) refuse_as_too_many();
  }

  Term both(const Term& one, const Term& other) {
    if (one.size() * other.size() > kMaxAlternatives) refuse_as_too_many();
    Term result;
    for (const Alternative& first : one)
      for (const Alternative& second : other) {
        count(1 + first.size() + second.size());
        result.push_back(first);
        result.back().insert(result.back().end(), second.begin(), second.end());
      }
    return result;
  }

  void append(Term& to, const Term& more) {
    if (to.size() + more.size() > kMaxAlternatives) refuse_as_too_many();
    for (const Alternative& one : more) count(1 + one.size());
    to.insert(to.end(), more.begin(), more.end());
  }

  Term joined(const Expression& expression, bool negate, bool all) {
    Term result = all ? Term{{}} : Term{};
    for (const Expression& part : expression.parts) {
      const Term one = of(part, negate);
      if (all)
        result = both(result, one);
      else
        append(result, one);
    }
    return result;
  }

  Term chosen(const Expression& expression, bool negate) {
    Term result, before{{}};
    for (size_t i = 0; i < expression.parts.size(); i += 2) {
      if (i + 1 == expression.parts.size()) {
        append(result, both(before, of(expression.parts[i], negate)));
        break;
      }
      append(result, both(both(before, of(expression.parts[i], false)), of(expression.parts[i + 1], negate)));
      before = both(before, of(expression.parts[i], true));
    }
    return result;
  }

  size_t steps_ = 0;
};

/** Ports are there in packets of some protocols only; of others they count as 0, whatever bytes are there. */
void look_at_bytes_where_no_ports_are(Term& term) {
  const auto says_so = [](const Condition& condition) {
    return condition.place == place_of(kProtocol) && condition.mask == 255 && condition.low == condition.high &&
           names_ports(condition.low);
  };
  for (Alternative& one : term) {
    if (std::ranges::none_of(one, says_so)) bytes_for_ports(one);
  }
}

uint16_t action_of(std::string_view word) {
  if (word == "allow" || word == "pass") return kAllow;
  if (word == "deny" || word == "drop") return kDeny;
  uint32_t output = 0;
  if (!parse_number(word, 255, output))
    throw Error(in_quotes(word) + " is not an action; there are allow, pass, deny, drop and outputs up to 255");
  return static_cast<uint16_t>(output);
}

constexpr const char* kOneALine = "; give each rule a line of its own, without IPFilter( and )";
/** Whether a line looks like an element, or several of its arguments. */
bool several(std::string_view line) {
  return line.find(',') != line.npos || line.find('(') < line.find(' ') || line.ends_with(';');
}

}  // namespace

RuleList read_ip_filter(const std::string& name, std::string_view text, std::vector<std::string>& errors) {
  RuleList list;
  list.policy = kDeny;  // IPFilter drops what matches nothing
  Mistakes mistakes(name, errors);
  each_line(text, [&](std::string_view whole, size_t number) {
    std::string_view line = trimmed(whole.substr(0, std::min(whole.find('#'), whole.find("//"))));
    const auto hint = [&] { return several(line) ? kOneALine : ""; };
    if (line.ends_with(',')) line = trimmed(line.substr(0, line.size() - 1));
    if (line.empty()) return;
    try {
      if (line.size() > kMaxBytes) throw Error(format("it has more than %zu bytes", kMaxBytes));
      const auto words = ip_filter::split(line);
      if (words.empty()) throw Error("expected ACTION PATTERN");
      const uint16_t next = action_of(words[0].text);
      Matches matches;
      matches.family = 4;
      matches.terms.push_back(Alternatives().of(ip_filter::parse(words, 1, line.size()), false));
      look_at_bytes_where_no_ports_are(matches.terms.back());
      add_rules(list, matches.rules(next), number);
    } catch (const ip_filter::Mistake& mistake) {
      mistakes.add(number, in_quotes(line) + " is not a rule: " + in_quotes(mistake.word) + " is not " +
                               mistake.expected + hint());
    } catch (const Error& error) {
      const std::string reason = error.what();
      mistakes.add(number,
                   in_quotes(line) + (reason.starts_with("is not ") ? " " : " is not supported: ") + reason + hint());
    }
  });
  return list;
}

}  // namespace heddle::classifier
