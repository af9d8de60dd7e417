// What `nft list ruleset` prints: the rules of one chain, without state.

#include <algorithm>
#include <map>

#include "convert/rules/rule_list.h"
#include "convert/rules/words.h"
#include "core/error.h"
#include "core/text_file.h"

namespace heddle::classifier {
namespace {

struct Word {
  std::string text;
  size_t line = 0;
  bool quoted = false;
};

/** The words of a ruleset; ends of lines are words "\n", but for those in the braces of a set within a rule. */
std::vector<Word> words_of_ruleset(std::string_view text) {
  std::vector<Word> words;
  size_t line = 1, set_depth = 0;
  // Whether a brace here is that of a table, a chain or another block, and not of a set in a rule.
  const auto opens_block = [&] {
    size_t first = words.size();
    while (first > 0 && words[first - 1].text != "\n" && words[first - 1].text != ";" && words[first - 1].text != "{")
      --first;
    const size_t count = words.size() - first;
    if (count == 0) return true;
    const std::string& kind = words[first].text;
    constexpr const char* kBlocks[] = {"table", "chain", "set", "map", "flowtable"};
    constexpr const char* kObjects[] = {"counter", "quota", "limit", "secmark", "synproxy"};
    constexpr const char* kConnections[] = {"helper", "timeout", "expectation"};
    return std::ranges::find(kBlocks, kind) != std::end(kBlocks) ||
           (count == 2 && std::ranges::find(kObjects, kind) != std::end(kObjects)) ||
           (count > 1 && kind == "ct" &&
            std::ranges::find(kConnections, words[first + 1].text) != std::end(kConnections));
  };
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '\n') {
      if (set_depth == 0) words.push_back({"\n", line});
      ++line, ++at;
    } else if (is_blank(c)) {
      ++at;
    } else if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '"') {
      const size_t end = std::min(text.find('"', at + 1), text.size());
      words.push_back({std::string(text.substr(at + 1, end - at - 1)), line, true});
      line += static_cast<size_t>(std::ranges::count(text.substr(at, end - at), '\n'));
      at = std::min(end + 1, text.size());
    } else if (c == '{' || c == '}') {
      if (c == '{' && (set_depth > 0 || !opens_block()))
        ++set_depth;
      else if (c == '}' && set_depth > 0)
        --set_depth;
      words.push_back({std::string(1, c), line});
      ++at;
    } else if (c == ',' || c == ';' || c == '(' || c == ')') {
      words.push_back({std::string(1, c), line});
      ++at;
    } else {
      const size_t end = std::min(text.find_first_of(" \t\r\v\f\n#\"{},;()", at), text.size());
      words.push_back({std::string(text.substr(at, end - at)), line});
      at = end;
    }
  }
  words.push_back({"\n", line});
  return words;
}

struct ChainBlock {
  std::string family, name;  // of the table; "TABLE CHAIN"
  std::optional<uint16_t> policy;
  std::string hook;
  std::vector<std::vector<Word>> rules;
};

constexpr std::pair<const char*, uint32_t> kIcmpTypes[] = {
    {"echo-reply", 0},         {"destination-unreachable", 3}, {"source-quench", 4},        {"redirect", 5},
    {"echo-request", 8},       {"router-advertisement", 9},    {"router-solicitation", 10}, {"time-exceeded", 11},
    {"parameter-problem", 12}, {"timestamp-request", 13},      {"timestamp-reply", 14},     {"info-request", 15},
    {"info-reply", 16},        {"address-mask-request", 17},   {"address-mask-reply", 18}};
constexpr std::pair<const char*, uint32_t> kIcmp6Types[] = {
    {"destination-unreachable", 1}, {"packet-too-big", 2},        {"time-exceeded", 3},
    {"parameter-problem", 4},       {"echo-request", 128},        {"echo-reply", 129},
    {"mld-listener-query", 130},    {"mld-listener-report", 131}, {"mld-listener-done", 132},
    {"nd-router-solicit", 133},     {"nd-router-advert", 134},    {"nd-neighbor-solicit", 135},
    {"nd-neighbor-advert", 136},    {"nd-redirect", 137}};

/** One rule of a chain. */
class Statement {
 public:
  Statement(const std::vector<Word>& words, const std::string& family) : words_(words) {
    matches_.family = family == "ip" ? 4 : family == "ip6" ? 6 : 0;
    table_family_ = matches_.family;
  }

  /** The rules that it is; nothing if it has no verdict. Throws Error: what is wrong or not supported. */
  std::optional<std::vector<Rule>> read() {
    std::optional<uint16_t> verdict;
    while (at_ < words_.size()) {
      if (verdict) throw Error("is not a rule: " + in_quotes(word()) + " follows the verdict");
      const std::string first = take();
      if (first == "accept")
        verdict = kAllow;
      else if (first == "drop")
        verdict = kDeny;
      else if (first == "counter")
        counter();
      else if (first == "comment")
        take();
      else
        match(first);
      if (verdict && word() == "comment") take(), take();
    }
    if (!verdict) return std::nullopt;
    if (ip4_ && table_family_ == 0) matches_.add(kIsIp4);
    if (table_family_ == 6 || (ip6_ && table_family_ == 0)) matches_.add(kIsIp6);
    if (matches_.family == 0) matches_.family = ip4_ ? 4 : ip6_ ? 6 : 0;
    return matches_.rules(*verdict);
  }

 private:
  using Read = uint32_t (*)(std::string_view);

  std::string word() const { return at_ < words_.size() ? words_[at_].text : ""; }
  std::string take() {
    if (at_ >= words_.size()) throw Error("is not a rule: it ends too early");
    return words_[at_++].text;
  }

  void counter() {
    if (word() != "packets") return;
    for (int i = 0; i < 4; ++i) take();
  }

  void match(const std::string& first) {
    if (first == "ip") return network4(take());
    if (first == "ip6") return network6(take());
    if (first == "meta") return meta(take());
    if (first == "tcp" || first == "udp" || first == "sctp" || first == "dccp" || first == "udplite" || first == "th")
      return transport(first, take());
    if (first == "icmp" || first == "icmpv6") return icmp(first == "icmp", take());
    if (first == "vlan") {
      const std::string what = take();
      if (what != "id") throw Error("is not supported: of vlan only the id has an equal here, not " + in_quotes(what));
      return value(kVlan, number<4095>);
    }
    if (first == "ct" || first == "limit" || first == "quota" || first == "socket")
      throw Error("is not supported: " + in_quotes(first) + " depends on packets before; rules here have no state");
    if (first == "iifname" || first == "oifname" || first == "iif" || first == "oif")
      throw Error("is not supported: it asks for an interface (" + first +
                  "), which rules here do not see; put a Firewall behind each port");
    if (first == "jump" || first == "goto" || first == "reject" || first == "queue" || first == "return")
      throw Error("is not supported: the verdict " + in_quotes(first) +
                  " has no equal here; there are accept and drop");
    throw Error("is not supported: " + in_quotes(first) + " has no equal here");
  }

  template <uint32_t most>
  static uint32_t number(std::string_view text) {
    uint32_t value = 0;
    if (!parse_number(text, most, value)) throw Error(in_quotes(text) + format(" is not a number up to %u", most));
    return value;
  }
  template <const auto& types>
  static uint32_t icmp_type(std::string_view text) {
    const auto* known = std::ranges::find(types, text, [](const auto& type) { return std::string_view(type.first); });
    return known != std::end(types) ? known->second : number<255>(text);
  }
  static uint32_t family_of(std::string_view text) {
    if (text == "ipv4" || text == "ip") return 4;
    if (text == "ipv6" || text == "ip6") return 6;
    throw Error(in_quotes(text) + " is neither IPv4 nor IPv6");
  }

  void network4(const std::string& what) {
    ip4_ = true;
    if (what == "saddr") return addresses(kSource);
    if (what == "daddr") return addresses(kDestination);
    if (what == "protocol") return value(place_of(kProtocol), protocol_of_word);
    if (what == "ttl") return value({Place::network, 1, 8}, number<255>);
    if (what == "length") return value({Place::network, 2, 2}, number<65535>);
    if (what == "id") return value({Place::network, 2, 4}, number<65535>);
    if (what == "frag-off") return value({Place::network, 2, 6}, number<65535>);
    throw Error("is not supported: 'ip " + what + "' has no equal here");
  }

  void network6(const std::string& what) {
    ip6_ = true;
    if (what == "saddr") return addresses(kSource);
    if (what == "daddr") return addresses(kDestination);
    if (what == "nexthdr") return value(place_of(kProtocol), protocol_of_word);
    if (what == "hoplimit") return value({Place::network, 1, 7}, number<255>);
    throw Error("is not supported: 'ip6 " + what + "' has no equal here");
  }

  void meta(const std::string& what) {
    if (what == "l4proto") return value(place_of(kProtocol), protocol_of_word);
    if (what == "nfproto" || what == "protocol") return value(kIpVersion, family_of);
    throw Error("is not supported: 'meta " + what + "' has no equal here");
  }

  void transport(const std::string& protocol, const std::string& what) {
    matches_.transport = true;
    if (protocol != "th") {
      const uint32_t wanted = protocol_of_word(protocol);
      matches_.add(range_of(place_of(kProtocol), wanted, wanted));
    }
    if (what == "sport") return value(place_of(kSourcePort), port_of_word);
    if (what == "dport") return value(place_of(kDestinationPort), port_of_word);
    if (protocol == "tcp" && what == "flags") return flags();
    throw Error("is not supported: " + in_quotes(protocol + " " + what) + " has no equal here");
  }

  void icmp(bool four, const std::string& what) {
    matches_.transport = true;
    (four ? ip4_ : ip6_) = true;
    matches_.add(range_of(place_of(kProtocol), four ? 1 : 58, four ? 1 : 58));
    if (what == "type") return value({Place::transport, 1, 0}, four ? icmp_type<kIcmpTypes> : icmp_type<kIcmp6Types>);
    if (what == "code") return value({Place::transport, 1, 1}, number<255>);
    throw Error("is not supported: 'icmp " + what + "' has no equal here");
  }

  /** "==", "!=", ...; "==" if there is none. */
  std::string relation() {
    constexpr const char* kRelations[] = {"==", "!=", "<", ">", "<=", ">="};
    return std::ranges::find(kRelations, word()) != std::end(kRelations) ? take() : "==";
  }

  /** The words of a value, or of each value of a set. */
  std::vector<std::string> values() {
    const std::string first = take();
    if (first.starts_with('@') || first.starts_with('$'))
      throw Error("is not supported: the named set or variable " + in_quotes(first) + "; write its values in braces");
    if (first != "{") return {first};
    std::vector<std::string> list;
    while (true) {
      list.push_back(take());
      const std::string sign = take();
      if (sign == ":") throw Error("is not supported: a map of verdicts");
      if (sign == "}") return list;
      if (sign != ",") throw Error("is not supported: " + in_quotes(sign) + " in a set");
    }
  }

  void value(const Place& place, Read read) {
    if (word() == "&") return masked(place, read);
    const std::string sign = relation();
    if (sign != "==" && sign != "!=") return ordered(place, read, sign);
    Term term;
    for (const std::string& text : values()) {
      const size_t range = text.find('-', 1);
      uint32_t low = 0, high = 0;
      try {
        low = high = read(text);  // a name may have a '-'
      } catch (const Error&) {
        if (range == text.npos) throw;
        low = read(std::string_view(text).substr(0, range)), high = read(std::string_view(text).substr(range + 1));
      }
      if (low > high)
        throw Error(format("is not a rule: its lowest value, %u, is larger than the highest, %u", low, high));
      term.push_back({range_of(place, low, high)});
    }
    matches_.add(term, sign == "!=");
  }

  void ordered(const Place& place, Read read, const std::string& sign) {
    const uint32_t limit = read(take()), most = place.largest();
    const bool below = sign[0] == '<', with = sign.size() == 2;
    if (!with && limit == (below ? 0 : most)) throw Error("is not a rule: no packet can match it");
    matches_.add(range_of(place, below ? 0 : limit + (with ? 0 : 1), below ? limit - (with ? 0 : 1) : most));
  }

  void masked(const Place& place, Read read) {
    take();
    const uint32_t mask = number<~0u>(take());
    const std::string sign = relation();
    if (sign != "==" && sign != "!=") throw Error("is not supported: " + in_quotes(sign) + " behind a mask");
    const uint32_t wanted = read(take());
    if ((wanted & ~mask) != 0 || mask > place.largest()) throw Error("is not a rule: no packet can match it");
    matches_.add(Condition{place, mask, wanted, wanted}, sign == "!=");
  }

  void addresses(Field field) {
    std::string mask;
    if (word() == "&") take(), mask = "/" + take();
    const std::string sign = relation();
    if (sign != "==" && sign != "!=") throw Error("is not supported: " + in_quotes(sign) + " of an address");
    Term term;
    for (const std::string& text : values())
      for (Alternative& one : addresses_of_word(text + mask, field)) term.push_back(std::move(one));
    matches_.add(term, sign == "!=");
  }

  /** What stands for TCP flags: NAME, NAME,NAME, (NAME | NAME). */
  uint32_t flag_words(char& separator) {
    uint32_t flags = 0;
    const bool bracket = word() == "(";
    if (bracket) take();
    separator = ' ';
    while (true) {
      flags |= tcp_flags_of_words(take(), '|');
      if (word() != "|" && word() != ",") break;
      separator = take()[0];
    }
    if (bracket && take() != ")") throw Error("is not a rule: a bracket is not closed");
    return flags;
  }

  void flags() {
    char separator = ' ';
    if (word() == "&") {
      take();
      const uint32_t mask = flag_words(separator);
      const std::string sign = relation();
      const uint32_t wanted = flag_words(separator);
      if (sign != "==" && sign != "!=") throw Error("is not supported: " + in_quotes(sign) + " of TCP flags");
      return flag_bits(mask, wanted, sign == "!=");
    }
    if (word() == "{") {
      Term term;
      for (const std::string& text : flag_set()) {
        const uint32_t exactly = tcp_flags_of_words(text, '|');
        term.push_back({range_of(kTcpFlags, exactly, exactly)});
      }
      return matches_.add(term);
    }
    const bool none = word() == "!", exact = word() == "==" || word() == "!=";
    const std::string sign = none || exact ? take() : "";
    const uint32_t flags = flag_words(separator);
    if (exact) return flag_bits(255, flags, sign == "!=");
    if (none) return flag_bits(flags, 0, false);
    if (word() == "/") {
      take();
      return flag_bits(flag_words(separator), flags, false);
    }
    flag_bits(flags, 0, true);  // one of them at least
  }

  std::vector<std::string> flag_set() {
    std::vector<std::string> list;
    take();
    std::string one;
    while (true) {
      const std::string next = take();
      if (next == "," || next == "}") list.push_back(one), one.clear();
      if (next == "}") return list;
      if (next != ",") one += next;
    }
  }

  void flag_bits(uint32_t mask, uint32_t wanted, bool negate) {
    if ((wanted & ~mask) != 0) throw Error("is not a rule: no packet can match it, for its TCP flags");
    matches_.add(Condition{kTcpFlags, mask, wanted, wanted}, negate);
  }

  const std::vector<Word>& words_;
  size_t at_ = 0;
  Matches matches_;
  int table_family_ = 0;
  bool ip4_ = false, ip6_ = false;
};

/** Takes a ruleset apart. */
class Ruleset {
 public:
  Ruleset(const std::vector<Word>& words, Mistakes& mistakes) : words_(words), mistakes_(mistakes) {}

  std::vector<ChainBlock> read() {
    while (at_ < words_.size()) {
      const Word& first = words_[at_];
      if (first.text == "\n" || first.text == ";") {
        ++at_;
      } else if (first.text == "}") {
        mistakes_.add(first.line, first.text, "closes nothing");
        ++at_;
      } else if (first.text == "table") {
        table();
      } else {
        const auto line = statement();
        if (!(line.size() == 2 && line[0].text == "flush"))
          mistakes_.add(first.line, text_of_words(line), "is not a table of `nft list ruleset`");
      }
    }
    return std::move(chains_);
  }

  static std::string text_of_words(const std::vector<Word>& words) {
    std::string text;
    for (const Word& word : words) text += (text.empty() ? "" : " ") + word.text;
    return text;
  }

 private:
  /** The words up to the end of the line. */
  std::vector<Word> statement() {
    std::vector<Word> line;
    for (int depth = 0; at_ < words_.size(); ++at_) {
      const std::string& text = words_[at_].text;
      if (depth == 0 && (text == "\n" || text == ";" || text == "}")) break;
      if (text == "{") ++depth;
      if (text == "}") --depth;
      if (text != "\n") line.push_back(words_[at_]);
    }
    if (at_ < words_.size() && words_[at_].text != "}") ++at_;
    return line;
  }

  /** The words up to a brace, which is passed over; false if the line has none. */
  bool head(std::vector<std::string>& words) {
    while (at_ < words_.size() && words_[at_].text != "\n" && words_[at_].text != "{")
      words.push_back(words_[at_++].text);
    const bool opens = at_ < words_.size() && words_[at_].text == "{";
    if (at_ < words_.size()) ++at_;
    return opens;
  }

  void table() {
    const size_t line = words_[at_].line;
    std::vector<std::string> words;
    if (!head(words) || words.size() < 2 || words.size() > 3)
      return mistakes_.add(line, "table", "is not a table: expected table FAMILY NAME {");
    const std::string family = words.size() == 3 ? words[1] : "ip";
    while (at_ < words_.size() && words_[at_].text != "}") {
      if (words_[at_].text == "chain")
        chain(family, words.back());
      else
        statement();  // sets and so on, which matter if a rule names them
    }
    if (at_ < words_.size()) ++at_;
  }

  void chain(const std::string& family, const std::string& table) {
    const size_t line = words_[at_].line;
    std::vector<std::string> words;
    if (!head(words) || words.size() != 2) return mistakes_.add(line, "chain", "is not a chain: expected chain NAME {");
    ChainBlock& block = chains_.emplace_back();
    block.family = family;
    block.name = table + " " + words[1];
    while (at_ < words_.size() && words_[at_].text != "}") {
      auto one = statement();
      if (one.empty()) continue;
      if (one[0].text == "type")
        for (size_t i = 0; i + 1 < one.size(); ++i) block.hook = one[i].text == "hook" ? one[i + 1].text : block.hook;
      else if (one[0].text == "policy" && one.size() == 2)
        block.policy = one[1].text == "accept" ? kAllow : kDeny;
      else if (one[0].text != "comment")
        block.rules.push_back(std::move(one));
    }
    if (at_ < words_.size()) ++at_;
  }

  const std::vector<Word>& words_;
  Mistakes& mistakes_;
  size_t at_ = 0;
  std::vector<ChainBlock> chains_;
};

/** The chain that is wanted; null if it cannot be told. */
const ChainBlock* chosen(const std::vector<ChainBlock>& chains, const std::string& wanted) {
  std::vector<const ChainBlock*> fit;
  for (const ChainBlock& chain : chains)
    if (!wanted.empty() ? chain.name == wanted || chain.name.ends_with(" " + wanted) : !chain.rules.empty())
      fit.push_back(&chain);
  if (fit.size() > 1 && wanted.empty()) std::erase_if(fit, [](const auto* chain) { return chain->hook != "forward"; });
  if (fit.empty() && wanted.empty() && chains.size() == 1) return &chains[0];
  return fit.size() == 1 ? fit[0] : nullptr;
}

}  // namespace

RuleList read_nft(const std::string& name, std::string_view text, const std::string& wanted,
                  std::vector<std::string>& errors) {
  RuleList list;
  Mistakes mistakes(name, errors);
  const auto words = words_of_ruleset(text);
  const auto chains = Ruleset(words, mistakes).read();
  const ChainBlock* chain = chosen(chains, wanted);
  if (chain == nullptr) {
    std::string names;
    for (const auto& one : chains) names += (names.empty() ? "'" : ", '") + one.name + "'";
    mistakes.add(words.back().line, wanted,
                 "does not say which chain is meant; name one with --chain, of those that there are: " + names);
    return list;
  }
  list.chain = chain->name;
  list.policy = chain->policy;
  for (const auto& other : chains) list.left_out += &other == chain ? 0 : other.rules.size();
  for (const auto& rule : chain->rules) try {
      if (chain->family == "arp" || chain->family == "bridge" || chain->family == "netdev")
        throw Error("is not supported: tables of the family " + chain->family + "; there are ip, ip6 and inet");
      const auto rules = Statement(rule, chain->family).read();
      if (!rules) ++list.left_out;
      for (const Rule& one : rules.value_or(std::vector<Rule>{})) list.rules.push_back({one, kNoRule, rule[0].line});
    } catch (const Error& error) {
      const std::string reason = error.what();
      mistakes.add(rule[0].line, Ruleset::text_of_words(rule),
                   reason.starts_with("is not ") ? reason : "is not a rule: " + reason);
    }
  return list;
}

}  // namespace heddle::classifier
