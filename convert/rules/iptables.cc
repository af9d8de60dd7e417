// What iptables-save and ip6tables-save print: the rules of one chain of the table filter, without state.

#include <algorithm>
#include <map>

#include "convert/rules/rule_list.h"
#include "convert/rules/words.h"
#include "core/error.h"
#include "core/text_file.h"

namespace heddle::classifier {
namespace {

/** The words of a line; a word in double quotes may hold blanks. */
std::vector<std::string> words_of_line(std::string_view line) {
  std::vector<std::string> words;
  while (!(line = trimmed(line)).empty()) {
    if (line[0] != '"') {
      words.emplace_back(take_word(line));
      continue;
    }
    std::string word;
    size_t at = 1;
    for (; at < line.size() && line[at] != '"'; ++at) {
      if (line[at] == '\\' && at + 1 < line.size()) ++at;
      word += line[at];
    }
    if (at >= line.size()) throw Error("is not a rule: a quote is not closed");
    words.push_back(word);
    line.remove_prefix(at + 1);
  }
  return words;
}

/** One line "-A CHAIN ...". */
class Line {
 public:
  Line(std::vector<std::string> words, int family) : words_(std::move(words)) { matches_.family = family; }

  /** The rules that it is; nothing if it has no verdict. Throws Error: what is wrong or not supported. */
  std::optional<std::vector<Rule>> read() {
    std::optional<uint16_t> verdict;
    for (at_ = 2; at_ < words_.size(); ++at_) {
      negate_ = words_[at_] == "!";
      if (negate_) ++at_;
      const std::string option = at_ < words_.size() ? words_[at_] : "";
      if (option == "-j" || option == "--jump")
        verdict = target(value());
      else
        match(option);
    }
    if (!verdict) return std::nullopt;
    if (matches_.family == 6) matches_.add(kIsIp6);
    return matches_.rules(*verdict);
  }

 private:
  const std::string& value() {
    if (++at_ >= words_.size()) throw Error("is not a rule: nothing follows " + words_[at_ - 1]);
    return words_[at_];
  }

  static uint16_t target(const std::string& name) {
    if (name == "ACCEPT") return kAllow;
    if (name == "DROP") return kDeny;
    throw Error("is not supported: its target " + in_quotes(name) +
                " is neither ACCEPT nor DROP; jumps to other chains and actions other than these two have no equal");
  }

  void match(const std::string& option) {
    if (option == "-s" || option == "--source") return addresses(kSource);
    if (option == "-d" || option == "--destination") return addresses(kDestination);
    if (option == "-p" || option == "--protocol") return protocol();
    if (option == "-m" || option == "--match") return module(value());
    if (option == "--src-range") return addresses(kSource);
    if (option == "--dst-range") return addresses(kDestination);
    if (option == "--sport" || option == "--source-port" || option == "--sports" || option == "--source-ports")
      return ports({kSourcePort});
    if (option == "--dport" || option == "--destination-port" || option == "--dports" ||
        option == "--destination-ports")
      return ports({kDestinationPort});
    if (option == "--ports") return ports({kSourcePort, kDestinationPort});
    if (option == "--tcp-flags") return flags();
    if (option == "--syn") return tcp_flags(0x17, 2);
    if (option == "--icmp-type" || option == "--icmpv6-type") return icmp();
    if (option == "-f" || option == "--fragment") return matches_.add(kFirstFragment, !negate_);
    if (option == "--ttl-eq") return ttl(0, 0);
    if (option == "--ttl-lt") return ttl(-1, 0);
    if (option == "--ttl-gt") return ttl(0, 1);
    if (option == "--dscp") return dscp();
    if (option == "--comment") return static_cast<void>(value());
    if (option == "-i" || option == "-o" || option == "--in-interface" || option == "--out-interface")
      throw Error("is not supported: it asks for an interface (" + option +
                  "), which rules here do not see; put a Firewall behind each port");
    throw Error("is not supported: " + in_quotes(option) + " has no equal here");
  }

  static void module(const std::string& name) {
    constexpr const char* kKnown[] = {"tcp",  "udp",     "sctp", "dccp", "udplite", "multiport",
                                      "icmp", "iprange", "ttl",  "dscp", "comment", "icmp6"};
    if (std::ranges::find(kKnown, name) != std::end(kKnown)) return;
    const bool stateful = name == "conntrack" || name == "state" || name == "recent" || name == "limit" ||
                          name == "hashlimit" || name == "connlimit";
    throw Error("is not supported: its match " + in_quotes(name) +
                (stateful ? " depends on packets before; rules here have no state" : " has no equal here"));
  }

  void addresses(Field field) {
    Term term;
    for (const std::string_view word : split_at(value(), ','))
      for (Alternative& one : addresses_of_word(word, field)) term.push_back(std::move(one));
    matches_.add(term, negate_);
  }

  void protocol() {
    if (value() == "all") return;
    const uint32_t number = protocol_of_word(words_[at_]);
    if (number != 0) matches_.add(range_of(place_of(kProtocol), number, number), negate_);  // 0: all
  }

  void ports(std::initializer_list<Field> fields) {
    Term term;
    const auto parts = split_at(value(), ',');
    for (const std::string_view part : parts) {
      const size_t colon = part.find(':');
      const std::string_view first = part.substr(0, colon), last = colon == part.npos ? first : part.substr(colon + 1);
      const uint32_t low = first.empty() ? 0 : port_of_word(first), high = last.empty() ? 65535 : port_of_word(last);
      if (low > high)
        throw Error(format("is not a rule: its lowest port, %u, is larger than the highest, %u", low, high));
      for (const Field field : fields) term.push_back({range_of(place_of(field), low, high)});
    }
    matches_.transport = true;
    matches_.add(term, negate_);
  }

  void tcp_flags(uint32_t mask, uint32_t wanted) {
    matches_.transport = true;
    if ((wanted & ~mask) != 0) throw Error("is not a rule: it wants TCP flags at which it does not look");
    matches_.add(Condition{kTcpFlags, mask, wanted, wanted}, negate_);
  }
  void flags() {
    const uint32_t mask = tcp_flags_of_words(value());
    tcp_flags(mask, tcp_flags_of_words(value()));
  }

  void icmp() {
    const auto parts = split_at(value(), '/');
    uint32_t type = 0, code = 0;
    if (parts[0] == "any" || parts[0] == "255") return;
    if (!parse_number(parts[0], 255, type) || (parts.size() > 1 && !parse_number(parts[1], 255, code)))
      throw Error("is not supported: " + in_quotes(words_[at_]) +
                  " is not an ICMP type as a number, TYPE or TYPE/CODE");
    matches_.transport = true;
    Alternative both{range_of({Place::transport, 1, 0}, type, type)};
    if (parts.size() > 1) both.push_back(range_of({Place::transport, 1, 1}, code, code));
    matches_.add(Term{both}, negate_);
  }

  void ttl(int highest, int lowest) {
    uint32_t number = 0;
    if (!parse_number(value(), 255, number)) throw Error("is not a rule: " + in_quotes(words_[at_]) + " is not a TTL");
    const Place place{Place::network, 1, static_cast<uint16_t>(matches_.family == 6 ? 7 : 8)};
    if ((highest < 0 && number == 0) || (lowest > 0 && number == 255))
      throw Error("is not a rule: no packet can match it, for what it asks of the TTL");
    matches_.add(range_of(place, highest < 0 ? 0 : number + static_cast<uint32_t>(lowest),
                          highest < 0  ? number - 1
                          : lowest > 0 ? 255
                                       : number),
                 negate_);
  }

  void dscp() {
    uint32_t number = 0;
    if (matches_.family == 6 || !parse_number(value(), 63, number))
      throw Error("is not supported: --dscp takes a number up to 63, and rules of IPv4 only");
    matches_.add(Condition{{Place::network, 1, 1}, 0xfc, number << 2, number << 2}, negate_);
  }

  std::vector<std::string> words_;
  size_t at_ = 0;
  bool negate_ = false;
  Matches matches_;
};

struct Chain {
  std::optional<uint16_t> policy;
  std::vector<std::pair<size_t, std::vector<std::string>>> lines;
};

/** The chain that is wanted; "" if it cannot be told. */
std::string chosen(const std::map<std::string, Chain>& chains, const std::string& wanted) {
  if (!wanted.empty()) return chains.contains(wanted) ? wanted : "";
  std::string found = chains.contains("FORWARD") ? "FORWARD" : "";
  if (!found.empty() && !chains.at(found).lines.empty()) return found;
  size_t with_rules = 0;
  for (const auto& [name, chain] : chains)
    if (!chain.lines.empty()) found = name, ++with_rules;
  return with_rules > 1 ? "" : found;
}

}  // namespace

RuleList read_iptables(const std::string& name, std::string_view text, const std::string& wanted,
                       std::vector<std::string>& errors) {
  RuleList list;
  Mistakes mistakes(name, errors);
  std::map<std::string, Chain> chains;
  std::string table = "filter";
  int family = 0;
  size_t last = 0, all = 0;
  each_line(text, [&](std::string_view line, size_t number) {
    line = trimmed(line);
    last = number;
    if (line.starts_with("# Generated by ip6tables")) family = 6;
    if (line.empty() || line[0] == '#' || line == "COMMIT") return;
    if (line[0] == '*') return static_cast<void>(table = line.substr(1));
    try {
      if (line[0] == '[' && line.find(']') != line.npos) line.remove_prefix(line.find(']') + 1);  // counters
      auto words = words_of_line(line);
      if (!words.empty() && words[0].starts_with(':')) words[0].erase(0, 1), words.insert(words.begin(), "-P");
      if (words.size() < 2 || (words[0] != "-A" && words[0] != "-P" && words[0] != "-N"))
        throw Error("is not a line of iptables-save: expected *TABLE, :CHAIN POLICY, -A CHAIN ... or COMMIT");
      if (words[0] == "-A") ++all;
      if (table != "filter") return;
      Chain& chain = chains[words[1]];
      if (words[0] == "-P" && words.size() > 2 && words[2] != "-") chain.policy = words[2] == "ACCEPT" ? kAllow : kDeny;
      if (words[0] != "-A") return;
      for (const std::string& word : words)
        if (word.find("::") != word.npos && word.find('/') != word.npos) family = 6;
      chain.lines.emplace_back(number, std::move(words));
    } catch (const Error& error) {
      mistakes.add(number, std::string(line), error.what());
    }
  });
  list.chain = chosen(chains, wanted);
  if (list.chain.empty()) {
    std::string names;
    for (const auto& [chain, rest] : chains) names += (names.empty() ? "" : ", ") + chain;
    mistakes.add(last, wanted,
                 wanted.empty() ? "is no chain of the table filter: several have rules; name one with --chain: " + names
                                : "is no chain of the table filter; there are " + names);
    return list;
  }
  const Chain& chain = chains[list.chain];
  list.policy = chain.policy;
  list.left_out = all - chain.lines.size();
  for (const auto& [number, words] : chain.lines) try {
      const auto rules = Line(words, family == 0 ? 4 : family).read();
      if (!rules) ++list.left_out;
      for (const Rule& rule : rules.value_or(std::vector<Rule>{})) list.rules.push_back({rule, kNoRule, number});
    } catch (const Error& error) {
      std::string line;
      for (const auto& word : words) line += (line.empty() ? "" : " ") + word;
      const std::string reason = error.what();
      mistakes.add(number, line, reason.starts_with("is not ") ? reason : "is not a rule: " + reason);
    }
  return list;
}

}  // namespace heddle::classifier
