#include "convert/rules/nft_statement.h"

#include <algorithm>

#include "convert/rules/rule_list.h"
#include "convert/rules/words.h"
#include "core/error.h"
#include "core/text_file.h"

namespace heddle::classifier::nft {
namespace {

constexpr std::pair<const char*, uint32_t> kIcmpTypes[] = {
    {"echo-reply", 0},         {"destination-unreachable", 3}, {"source-quench", 4},        {"redirect", 5},
    {"echo-request", 8},       {"router-advertisement", 9},    {"router-solicitation", 10}, {"time-exceeded", 11},
    {"parameter-problem", 12}, {"timestamp-request", 13},      {"timestamp-reply", 14},     {"info-request", 15},
    {"info-reply", 16},        {"address-mask-request", 17},   {"address-mask-reply", 18}};
constexpr std::pair<const char*, uint32_t> kIcmp6Types[] = {
    {"destination-unreachable", 1},  {"packet-too-big", 2},         {"time-exceeded", 3},
    {"parameter-problem", 4},        {"echo-request", 128},         {"echo-reply", 129},
    {"mld-listener-query", 130},     {"mld-listener-report", 131},  {"mld-listener-done", 132},
    {"mld-listener-reduction", 132}, {"nd-router-solicit", 133},    {"nd-router-advert", 134},
    {"nd-neighbor-solicit", 135},    {"nd-neighbor-advert", 136},   {"nd-redirect", 137},
    {"router-renumbering", 138},     {"ind-neighbor-solicit", 141}, {"ind-neighbor-advert", 142},
    {"mld2-listener-report", 143}};
// As `nft describe icmp code` has them, and of icmpv6; RFC 792, RFC 1122, 3.2.2.1, RFC 4443, 3.1.
constexpr std::pair<const char*, uint32_t> kIcmpCodes[] = {
    {"net-unreachable", 0}, {"host-unreachable", 1}, {"prot-unreachable", 2}, {"port-unreachable", 3},
    {"frag-needed", 4},     {"net-prohibited", 9},   {"host-prohibited", 10}, {"admin-prohibited", 13}};
constexpr std::pair<const char*, uint32_t> kIcmp6Codes[] = {{"no-route", 0},         {"admin-prohibited", 1},
                                                            {"addr-unreachable", 3}, {"port-unreachable", 4},
                                                            {"policy-fail", 5},      {"reject-route", 6}};

constexpr std::pair<const char*, uint32_t> kDscps[] = {
    {"cs0", 0},   {"cs1", 8},   {"cs2", 16},  {"cs3", 24},  {"cs4", 32},  {"cs5", 40},  {"cs6", 48},
    {"cs7", 56},  {"df", 0},    {"be", 0},    {"lephb", 1}, {"af11", 10}, {"af12", 12}, {"af13", 14},
    {"af21", 18}, {"af22", 20}, {"af23", 22}, {"af31", 26}, {"af32", 28}, {"af33", 30}, {"af41", 34},
    {"af42", 36}, {"af43", 38}, {"va", 44},   {"ef", 46}};

/** One rule of a chain. */
class Statement {
 public:
  Statement(const std::vector<Word>& words, const std::string& family, const Sets& sets)
      : words_(words),
        sets_(sets),
        table_family_(family == "ip"    ? 4
                      : family == "ip6" ? 6
                                        : 0),
        family_(table_family_) {}

  /** Throws Error: what is wrong or not supported. */
  ChainLine read() {
    bool decided = false;
    while (at_ < words_.size()) {
      if (is("comment")) {
        comment();
        break;
      }
      if (decided) throw Error("is not a rule: " + in_quotes(words_[at_].text) + " follows the verdict");
      if (words_[at_].quoted) throw Error("is not a rule: " + in_quotes(words_[at_].text) + " is a text in quotes");
      const std::string first = take();
      decided = verdict(first);
      if (decided) continue;
      if (first == "counter")
        counter();
      else if (first == "log")
        log();
      else if ((first == "meta" || first == "ct") && skip_mark())
        continue;
      else
        match(first);
    }
    matches_.look_at_bytes_where_no_ports_are();  // as `th sport` does
    if (family_ == 6) matches_.add(kIsIp6);
    if (family_ == 4 && table_family_ == 0) matches_.add(kIsIp4);
    matches_.family = family_;
    line_.matches = std::move(matches_);
    return std::move(line_);
  }

 private:
  using Read = uint32_t (*)(std::string_view);
  using Then = ChainLine::Then;

  /** False if the word is none. */
  bool verdict(const std::string& word) {
    if (word == "accept" || word == "drop" || word == "reject") {
      line_.then = Then::verdict;
      line_.verdict = word == "accept" ? kAllow : kDeny;
      line_.answers = word == "reject";
      if (line_.answers) answer();
      return true;
    }
    if (word == "jump" || word == "goto") {
      line_.then = word == "jump" ? Then::jump : Then::goes;
      line_.to = take();
      if (line_.to == "{") throw Error("is not supported: a chain without a name; give it one");
      return true;
    }
    if (word != "return" && word != "continue") return false;
    line_.then = word == "return" ? Then::returns : Then::nothing;
    return true;
  }

  /** with icmp|icmpv6|icmpx [type] CODE, with tcp reset; it asks for what can be answered so. */
  void answer() {
    if (!skip("with")) return;
    const std::string how = take();
    if (how == "icmp" || how == "icmpv6") of_family(how == "icmp" ? 4 : 6);
    if (how == "tcp") matches_.add(range_of(place_of(kProtocol), 6, 6)), matches_.by_protocol = true;
    if (how != "icmp" && how != "icmpv6" && how != "icmpx" && how != "tcp")
      throw Error("is not a rule: " + in_quotes(how) + " is no answer of reject");
    if (how != "tcp") skip("type");
    if (const std::string code = take(); how == "tcp" && code != "reset")
      throw Error("is not a rule: expected reject with tcp reset");
  }

  bool is(std::string_view sign) const { return at_ < words_.size() && words_[at_].is(sign); }
  bool skip(std::string_view sign) {
    if (!is(sign)) return false;
    ++at_;
    return true;
  }
  std::string take() {
    if (at_ >= words_.size()) throw Error("is not a rule: it ends too early");
    return words_[at_++].text;
  }

  void comment() {
    ++at_;
    take();
    if (at_ < words_.size()) throw Error("is not a rule: " + in_quotes(words_[at_].text) + " follows the comment");
  }

  /** counter [packets N bytes N | name NAME] */
  void counter() {
    if (skip("name")) {
      take();
      return;
    }
    if (!skip("packets")) return;
    take();
    if (!skip("bytes")) throw Error("is not a rule: expected counter packets NUMBER bytes NUMBER");
    take();
  }

  /** log [prefix TEXT] [level NAME] [flags NAME, ...] ... */
  void log() {
    constexpr const char* kOptions[] = {"prefix", "level", "group", "snaplen", "queue-threshold"};
    for (;;) {
      if (skip("flags")) {
        do
          if (const std::string what = take(); what == "tcp" || what == "ip") take();
        while (skip(","));
      } else if (std::ranges::any_of(kOptions, [&](const char* option) { return skip(option); })) {
        take();
      } else {
        return;
      }
    }
  }

  /** mark|priority|nftrace set VALUE, at which rules that are supported do not look. */
  bool skip_mark() {
    if (!(is("mark") || is("priority") || is("nftrace")) || at_ + 1 >= words_.size() || !words_[at_ + 1].is("set"))
      return false;
    at_ += 2;
    take();
    return true;
  }

  /** Behind the name of a field. */
  void refuse_change(const std::string& field) const {
    if (is("set")) throw Error("is not supported: '" + field + " set' changes packets, and rules here only sort them");
  }

  /** A match that only packets of this family have. With one of the other family no packet matches, which nft may
   *  allow. */
  void of_family(int family) {
    if (table_family_ != 0 && table_family_ != family)
      throw Error(format("is not a rule: it asks for IPv%d in a table of the other version", family));
    if (family_ == 0) family_ = family;
    if (family_ != family) matches_.add(family == 4 ? kIsIp4 : kIsIp6);
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
    if (first == "queue")
      throw Error("is not supported: the verdict 'queue' has no equal here; there are accept, drop and reject");
    throw Error("is not supported: " + in_quotes(first) + " has no equal here");
  }

  template <uint32_t most>
  static uint32_t number(std::string_view text) {
    uint32_t value = 0;
    if (!parse_number(text, most, value)) throw Error(in_quotes(text) + format(" is not a number up to %u", most));
    return value;
  }
  template <const auto& names, uint32_t most>
  static uint32_t named(std::string_view text) {
    const auto* known = std::ranges::find(names, text, [](const auto& one) { return std::string_view(one.first); });
    if (known != std::end(names)) return known->second;
    if (uint32_t value = 0; parse_number(text, most, value)) return value;
    throw Error(in_quotes(text) + format(" is not a number up to %u, or a name that nft has for it", most));
  }
  static uint32_t family_of(std::string_view text) {
    if (text == "ipv4" || text == "ip") return 4;
    if (text == "ipv6" || text == "ip6") return 6;
    throw Error("is not supported: " + in_quotes(text) + " is neither IPv4 nor IPv6");
  }

  void network4(const std::string& what) {
    refuse_change("ip " + what);
    of_family(4);
    if (what == "saddr") return addresses(kSource, 4);
    if (what == "daddr") return addresses(kDestination, 4);
    if (what == "protocol") return value(place_of(kProtocol), protocol_of_word);
    if (what == "ttl") return value({Place::network, 1, 8}, number<255>);
    if (what == "dscp") return dscp({Place::network, 1, 1}, 2);
    if (what == "length") return value({Place::network, 2, 2}, number<65535>);
    if (what == "id") return value({Place::network, 2, 4}, number<65535>);
    if (what == "frag-off") return value({Place::network, 2, 6}, number<65535>);
    throw Error("is not supported: 'ip " + what + "' has no equal here");
  }

  void network6(const std::string& what) {
    refuse_change("ip6 " + what);
    of_family(6);
    if (what == "saddr") return addresses(kSource, 6);
    if (what == "daddr") return addresses(kDestination, 6);
    if (what == "nexthdr") return value(place_of(kProtocol), protocol_of_word);
    if (what == "hoplimit") return value({Place::network, 1, 7}, number<255>);
    if (what == "dscp") return dscp({Place::network, 2, 0}, 6);
    throw Error("is not supported: 'ip6 " + what + "' has no equal here");
  }

  void meta(const std::string& what) {
    if (what == "l4proto") {
      matches_.by_protocol = true;
      return value(place_of(kProtocol), protocol_of_word);
    }
    if (what == "nfproto" || what == "protocol") {
      if (family_ != 0 || !(is("ipv4") || is("ip") || is("ipv6") || is("ip6"))) return value(kIpVersion, family_of);
      return of_family(static_cast<int>(family_of(take())));
    }
    throw Error("is not supported: 'meta " + what + "' has no equal here");
  }

  void transport(const std::string& protocol, const std::string& what) {
    refuse_change(protocol + " " + what);
    matches_.transport = matches_.by_protocol = true;
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
    matches_.transport = matches_.by_protocol = true;
    if (family_ == 0) family_ = four ? 4 : 6;  // as nft: what has said its version keeps it
    matches_.add(range_of(place_of(kProtocol), four ? 1 : 58, four ? 1 : 58));
    if (what == "type") return value({Place::transport, 1, 0}, four ? named<kIcmpTypes, 255> : named<kIcmp6Types, 255>);
    if (what == "code") return value({Place::transport, 1, 1}, four ? named<kIcmpCodes, 255> : named<kIcmp6Codes, 255>);
    throw Error("is not supported: '" + std::string(four ? "icmp " : "icmpv6 ") + what + "' has no equal here");
  }

  /** "==", "!=", ...; "==" if there is none. */
  std::string relation() {
    for (const char* sign : {"==", "!=", "<", ">", "<=", ">="})
      if (skip(sign)) return sign;
    return "==";
  }

  /** What may stand behind a field beside a relation, and is none. */
  void refuse_maps() const {
    if (is(".")) throw Error("is not supported: a concatenation of fields; write a rule for each of its values");
    if (is("vmap") || is("map"))
      throw Error("is not supported: a map (" + words_[at_].text + "); write a rule for each of its values");
  }

  /** The words of a value, or of each value of a set. */
  std::vector<std::string> values() {
    if (at_ < words_.size() && !words_[at_].quoted && words_[at_].text.starts_with('@')) return set_named(take());
    if (!skip("{")) return {value_word()};
    std::vector<std::string> list;
    do {
      list.push_back(value_word());
      if (is(":")) throw Error("is not supported: a map of verdicts");
      if (!is(",") && !is("}")) throw Error("is not supported: " + in_quotes(take()) + " in a set");
    } while (skip(",") && !is("}"));
    take();
    return list;
  }
  std::string value_word() {
    const std::string word = take();
    if (word.starts_with('$'))
      throw Error("is not supported: the variable " + in_quotes(word) + "; write its values in braces");
    return word;
  }
  const std::vector<std::string>& set_named(const std::string& word) const {
    const auto found = sets_.find(std::string_view(word).substr(1));
    if (found == sets_.end()) throw Error("is not a rule: its table has no set " + in_quotes(word));
    if (const std::string& why = found->second.why_not; !why.empty())
      throw Error("is not supported: the set " + in_quotes(word) + " has " + why);
    return found->second.values;
  }

  using Range = std::pair<uint32_t, uint32_t>;

  void value(const Place& place, Read read) {
    if (skip("&")) return masked(place, read);
    Term term;
    bool negate = false;
    for (const auto& [low, high] : ranges(place.largest(), read, negate)) term.push_back({range_of(place, low, high)});
    matches_.add(term, negate);
  }

  /** Six bits of the place, which `shift` follow. */
  void dscp(const Place& place, uint32_t shift) {
    if (is("&")) throw Error("is not supported: a mask of dscp");
    Term term;
    bool negate = false;
    for (const auto& [low, high] : ranges(63, named<kDscps, 63>, negate))
      for (uint32_t one = low; one <= high; ++one)
        term.push_back({Condition{place, 63u << shift, one << shift, one << shift}});
    matches_.add(term, negate);
  }

  /** A value, or LOW-HIGH; a name may have a '-', too. */
  static Range range(std::string_view text, Read read) {
    try {
      const uint32_t value = read(text);
      return {value, value};
    } catch (const Error& none) {
      for (size_t sign = text.find('-', 1); sign != text.npos; sign = text.find('-', sign + 1)) try {
          return {read(text.substr(0, sign)), read(text.substr(sign + 1))};
        } catch (const Error&) {  // of which the whole text is said below
        }
      throw none;
    }
  }

  /** What a field of values up to `most` is compared with. */
  std::vector<Range> ranges(uint32_t most, Read read, bool& negate) {
    refuse_maps();
    const std::string sign = relation();
    if (sign != "==" && sign != "!=") return {ordered(most, read, sign)};
    negate = sign == "!=";
    std::vector<Range> result;
    for (const std::string& text : values()) {
      const auto [low, high] = range(text, read);
      if (low > high)
        throw Error(format("is not a rule: its lowest value, %u, is larger than the highest, %u", low, high));
      result.emplace_back(low, high);
    }
    return result;
  }

  Range ordered(uint32_t most, Read read, const std::string& sign) {
    const uint32_t limit = read(take());
    const bool below = sign[0] == '<', with = sign.size() == 2;
    if (!with && limit == (below ? 0 : most)) throw Error("is not a rule: no packet can match it");
    return {below ? 0 : limit + (with ? 0 : 1), below ? limit - (with ? 0 : 1) : most};
  }

  void masked(const Place& place, Read read) {
    const uint32_t mask = number<~0u>(take());
    const std::string sign = relation();
    if (sign != "==" && sign != "!=") throw Error("is not supported: " + in_quotes(sign) + " behind a mask");
    const uint32_t wanted = read(take());
    if ((wanted & ~mask) != 0 || mask > place.largest()) throw Error("is not a rule: no packet can match it");
    matches_.add(Condition{place, mask, wanted, wanted}, sign == "!=");
  }

  void addresses(Field field, int family) {
    std::string mask;
    if (skip("&")) mask = "/" + take();
    refuse_maps();
    const std::string sign = relation();
    if (sign != "==" && sign != "!=") throw Error("is not supported: " + in_quotes(sign) + " of an address");
    Term term;
    for (const std::string& text : values()) {
      Term masked = addresses_of_word(text + mask, field, family);
      if (!mask.empty()) expect_within(addresses_of_word(text, field, family), masked);
      for (Alternative& one : masked) term.push_back(std::move(one));
    }
    matches_.add(term, sign == "!=");
  }

  /** What is masked is compared with all of an address: outside of the mask it has to be 0. */
  static void expect_within(const Term& whole, const Term& masked) {
    for (const Condition& condition : whole[0]) {
      const auto same = std::ranges::find(masked[0], condition.place, &Condition::place);
      if (condition.low != (same == masked[0].end() ? 0 : same->low))
        throw Error("is not a rule: no packet can match it");
    }
  }

  /** What stands for TCP flags: NAME, NAME,NAME, (NAME | NAME). */
  uint32_t flag_words() {
    uint32_t flags = 0;
    const bool bracket = skip("(");
    do flags |= tcp_flags_of_words(take(), '|');
    while (skip("|") || skip(","));
    if (bracket && !skip(")")) throw Error("is not a rule: a bracket is not closed");
    return flags;
  }

  void flags() {
    refuse_maps();
    if (skip("&")) {
      const uint32_t mask = flag_words();
      const std::string sign = relation();
      if (sign != "==" && sign != "!=") throw Error("is not supported: " + in_quotes(sign) + " of TCP flags");
      if (!skip("{")) return flag_bits(mask, flag_words(), sign == "!=");
      return one_of_flags(mask, sign == "!=");
    }
    const bool none = skip("!"), differs = !none && skip("!="), exact = differs || (!none && skip("=="));
    if (!none && skip("{")) return one_of_flags(255, differs);
    const uint32_t flags = flag_words();
    if (none) return flag_bits(flags, 0, false);
    if (skip("/")) return flag_bits(flag_words(), flags, differs);
    if (exact) return flag_bits(255, flags, differs);
    flag_bits(flags, 0, true);  // one of them at least
  }

  /** Behind "{": flags of which those in `mask` are as one of these says. */
  void one_of_flags(uint32_t mask, bool negate) {
    Term term;
    for (const std::string& text : flag_set()) {
      const uint32_t wanted = tcp_flags_of_words(text, '|');
      if ((wanted & ~mask) == 0) term.push_back({Condition{kTcpFlags, mask, wanted, wanted}});
    }
    if (!term.empty() || !negate) matches_.add(term, negate);
  }

  std::vector<std::string> flag_set() {
    std::vector<std::string> list(1);
    while (!skip("}"))
      if (!skip(","))
        list.back() += take();
      else if (!is("}"))
        list.emplace_back();
    return list;
  }

  void flag_bits(uint32_t mask, uint32_t wanted, bool negate) {
    if ((wanted & ~mask) == 0)
      matches_.add(Condition{kTcpFlags, mask, wanted, wanted}, negate);
    else if (!negate)
      matches_.add(Term{});  // they cannot be so
  }

  const std::vector<Word>& words_;
  const Sets& sets_;
  int table_family_, family_;  // 4, 6, or 0: both; the rule's may be narrower
  size_t at_ = 0;
  Matches matches_;
  ChainLine line_;
};

/** Whether a rule only tells of packets; whatever it asks for, they go on to the next one. */
bool only_logs(const std::vector<Word>& words) {
  constexpr const char* kMore[] = {"accept",   "drop", "reject", "jump", "goto",       "return",   "queue",
                                   "vmap",     "map",  "set",    "snat", "masquerade", "redirect", "tproxy",
                                   "synproxy", "dnat", "dup",    "fwd",  "notrack",    "flow"};
  const auto has = [&](const char* wanted) {
    return std::ranges::any_of(words, [&](const Word& word) { return word.is(wanted); });
  };
  return has("log") && std::ranges::none_of(kMore, has);
}

}  // namespace

ChainLine read_statement(const std::vector<Word>& words, const std::string& family, const Sets& sets) {
  if (only_logs(words)) return {};
  return Statement(words, family, sets).read();
}

}  // namespace heddle::classifier::nft
