// The options of rules that ask for a packet's flow, and for how much its sides have sent (Suricata 7.0, Flow
// Keywords).

#include <algorithm>
#include <iterator>
#include <utility>

#include "functions/nids/rule_numbers.h"

namespace heddle::nids {

std::optional<Refusal> parse_flow(std::string_view text, Signature& rule) {
  struct Word {
    std::string_view name;
    int group;
    uint8_t has, lacks;
  };
  static constexpr Word kWords[] = {{"to_server", 0, kToServer, 0},
                                    {"from_client", 0, kToServer, 0},
                                    {"to_client", 0, kToClient, 0},
                                    {"from_server", 0, kToClient, 0},
                                    {"established", 1, kEstablished, 0},
                                    {"not_established", 1, 0, kEstablished},
                                    {"stateless", 1, 0, 0},
                                    {"only_stream", 2, 0, 0},
                                    {"no_stream", 2, 0, 0}};
  std::string_view seen[3];
  for (bool more = true; more;) {
    const size_t comma = text.find(',');
    const std::string_view part = trimmed(text.substr(0, comma));
    more = comma != text.npos;
    if (more) text.remove_prefix(comma + 1);
    const auto word = std::ranges::find(kWords, lower_case(part), &Word::name);
    if (word == std::end(kWords)) return Refusal{"flow has " + in_quotes(part) + ", which is not supported", true};
    std::string_view& other = seen[word->group];
    if (!other.empty())
      return Refusal{"flow has " + in_quotes(other) + " and " + in_quotes(part) + "; only one of them can be there"};
    other = word->name;
    rule.flow_has |= word->has, rule.flow_lacks |= word->lacks;
  }
  if (!seen[2].empty()) rule.streams = seen[2] == "only_stream" ? Signature::Streams::only : Signature::Streams::never;
  return std::nullopt;
}

std::optional<Refusal> parse_stream_size(std::string_view text, std::vector<SentTest>& tests) {
  using Of = SentTest::Of;
  constexpr std::pair<std::string_view, Of> kSides[] = {
      {"client", Of::client}, {"server", Of::server}, {"both", Of::both}, {"either", Of::either}};
  const std::string which = "stream_size " + in_quotes(text);
  const Refusal refusal{which + " is not SIDE,OPERATOR,NUMBER: client, server, both or either; <, >, =, !=, <= or >="};
  const size_t first = text.find(','), last = text.rfind(',');
  if (first == last) return refusal;
  const std::string_view name = trimmed(text.substr(0, first)),
                         sign = trimmed(text.substr(first + 1, last - first - 1));
  const auto* const side = std::ranges::find(kSides, name, &std::pair<std::string_view, Of>::first);
  uint32_t number = 0;
  if (side == std::end(kSides) || !to_number(text.substr(last + 1), number, 0u, UINT32_MAX)) return refusal;
  if ((sign == "<" && number == 0) || (sign == ">" && number == UINT32_MAX)) return Refusal{which + " matches nothing"};
  SentTest test{side->second, Ranges(number, number)};
  if (sign == "<" || sign == "<=")
    test.counts = Ranges(0, sign == "<" ? number - 1 : number);
  else if (sign == ">" || sign == ">=")
    test.counts = Ranges(sign == ">" ? number + 1 : number, UINT32_MAX);
  else if (sign == "!=")
    test.counts = test.counts.inverted(UINT32_MAX);
  else if (sign != "=")
    return refusal;
  tests.push_back(std::move(test));
  return std::nullopt;
}

}  // namespace heddle::nids
