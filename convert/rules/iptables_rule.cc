#include "convert/rules/iptables_rule.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "convert/rules/rule_list.h"
#include "convert/rules/words.h"
#include "core/error.h"
#include "core/text_file.h"

namespace heddle::classifier {
namespace {

/** Modules that match one protocol, and nothing of later fragments. */
constexpr std::pair<std::string_view, uint32_t> kProtocolModules[] = {
    {"tcp", 6}, {"udp", 17}, {"sctp", 132}, {"dccp", 33}, {"udplite", 136}, {"icmp", 1}, {"icmp6", 58}};
constexpr std::string_view kOtherModules[] = {"multiport", "iprange", "ttl", "dscp", "comment"};

uint32_t protocol_of_module(std::string_view name) {
  const auto* found = std::ranges::find(kProtocolModules, name, [](const auto& one) { return one.first; });
  return found != std::end(kProtocolModules) ? found->second : 0;
}

/** One line "-A CHAIN ...". */
class Line {
 public:
  Line(const std::vector<std::string>& words, int family, const std::function<bool(const std::string&)>& is_chain)
      : words_(words), is_chain_(is_chain) {
    matches_.family = family;
  }

  /** Throws Error: what is wrong or not supported. */
  ChainLine read() {
    for (at_ = 2; at_ < words_.size(); ++at_) {
      negate_ = words_[at_] == "!";
      if (negate_ && ++at_ == words_.size()) throw Error("is not a rule: nothing follows !");
      option(words_[at_]);
    }
    check_modules();
    if (!answer_.empty()) check_answer();
    if (matches_.family == 6) matches_.add(kIsIp6);
    line_.matches = std::move(matches_);
    return std::move(line_);
  }

 private:
  /** An option, which may be given once, and once more if its module is named again. */
  struct Option {
    std::string_view names[2];
    std::string_view modules;  ///< one of which it needs; "": it is iptables' own
    bool negatable;
    void (Line::*read)();
  };
  static const Option kOptions[];

  void option(const std::string& name) {
    const Option* found = kOptions;
    while (found->read != nullptr && found->names[0] != name && found->names[1] != name) ++found;
    if (found->read == nullptr) throw Error("is not supported: " + in_quotes(name) + " has no equal here");
    if (!found->modules.empty() && !has_module(found->modules))
      throw Error("is not a rule: " + name + " needs, before it, -p or -m with one of: " + std::string(found->modules));
    if (negate_ && !found->negatable) throw Error("is not a rule: " + name + " cannot be negated");
    if (found->read != &Line::module && !used_.insert(found).second)
      throw Error("is not a rule: " + name + " is there twice");
    if (line_.then != ChainLine::Then::nothing && (found->read == &Line::target || found->read == &Line::go))
      throw Error("is not a rule: it has two targets");
    (this->*found->read)();
  }

  /** Whether one of the modules has been named; the protocol names one, too. */
  bool has_module(std::string_view names) {
    for (const std::string_view name : split_at(names, ' ')) {
      if (protocol_ != 0 && protocol_of_module(name) == protocol_) load(name);
      if (modules_.contains(name)) return true;
    }
    return false;
  }

  void load(std::string_view name) {
    modules_.emplace(name);
    if (protocol_of_module(name) != 0 || name == "multiport") matches_.transport = true;
  }

  void check_modules() const {
    for (const std::string& name : modules_) {
      const uint32_t wanted = protocol_of_module(name);
      if (wanted != 0 ? wanted != protocol_ : name == "multiport" && std::ranges::count(kWithPorts, protocol_) == 0)
        throw Error("is not a rule: -m " + name + " needs -p with " +
                    (wanted != 0 ? name : "a protocol that has ports"));
      if (wanted == 0 && std::ranges::none_of(used_, [&](const Option* used) { return used->modules == name; }))
        throw Error("is not a rule: none of its options follows -m " + name);
    }
  }

  const std::string& value() {
    if (++at_ >= words_.size()) throw Error("is not a rule: nothing follows " + words_[at_ - 1]);
    return words_[at_];
  }

  void target() {
    const std::string& name = value();
    line_.answers = name == "REJECT";
    if (name == "ACCEPT" || name == "DROP" || line_.answers) {
      line_.then = ChainLine::Then::verdict;
      line_.verdict = name == "ACCEPT" ? kAllow : kDeny;
    } else if (name == "RETURN") {
      line_.then = ChainLine::Then::returns;
    } else if (is_chain_(name)) {
      line_.then = ChainLine::Then::jump;
      line_.to = name;
    } else {
      throw Error("is not supported: its target " + in_quotes(name) +
                  " is none of ACCEPT, DROP, REJECT and RETURN, and no chain of the file; others have no equal");
    }
  }
  void go() {
    if (!is_chain_(value())) throw Error("is not a rule: there is no chain " + in_quotes(words_[at_]) + " to go to");
    line_.then = ChainLine::Then::goes;
    line_.to = words_[at_];
  }

  void answer() { answer_ = value(); }
  void check_answer() const {
    if (!line_.answers) throw Error("is not a rule: --reject-with is without -j REJECT");
    if (answer_ == "tcp-reset" && protocol_ != 6) throw Error("is not a rule: tcp-reset needs -p tcp");
    if (answer_ != "tcp-reset" && !answer_.starts_with("icmp"))
      throw Error("is not a rule: " + in_quotes(answer_) + " is no answer of REJECT");
  }

  void interface() {
    throw Error("is not supported: it asks for an interface (" + words_[at_] +
                "), which rules here do not see; put a Firewall behind each port");
  }

  void module() {
    const std::string& name = value();
    if (protocol_of_module(name) == 0 && std::ranges::count(kOtherModules, name) == 0) {
      const bool stateful = name == "conntrack" || name == "state" || name == "recent" || name == "limit" ||
                            name == "hashlimit" || name == "connlimit";
      throw Error("is not supported: its match " + in_quotes(name) +
                  (stateful ? " depends on packets before; rules here have no state" : " has no equal here"));
    }
    if (modules_.contains(name) && protocol_of_module(name) == 0)
      std::erase_if(used_, [&](const Option* used) { return used->modules == name; });
    load(name);
  }

  void source() { addresses(kSource); }
  void destination() { addresses(kDestination); }
  void addresses(Field field) {
    const auto parts = split_at(value(), ',');
    if (negate_ && parts.size() > 1) throw Error("is not a rule: several addresses cannot be negated");
    Term term;
    for (const std::string_view word : parts) {
      if (word.find('-') != word.npos) throw Error(in_quotes(word) + " is not an address or a prefix");
      for (Alternative& one : addresses_of_word(word, field, matches_.family)) term.push_back(std::move(one));
    }
    matches_.add(term, negate_);
  }
  void source_range() { address_range(kSource); }
  void destination_range() { address_range(kDestination); }
  void address_range(Field field) {
    if (value().find('/') != std::string::npos) throw Error(in_quotes(words_[at_]) + " is not a range of addresses");
    matches_.add(addresses_of_word(words_[at_], field, matches_.family), negate_);
  }

  void protocol() {
    const uint32_t number = value() == "all" ? 0 : protocol_of_word(words_[at_]);
    if (number == 0 && negate_) throw Error("is not a rule: no packet can match it");
    if (number == 0) return;
    matches_.add(range_of(place_of(kProtocol), number, number), negate_);
    matches_.by_protocol = true;
    if (!negate_) protocol_ = number;
  }

  void source_port() { port(kSourcePort); }
  void destination_port() { port(kDestinationPort); }
  /** PORT, LOW:HIGH, LOW: or :HIGH. */
  void port(Field field) {
    const std::string_view text = value();
    const size_t colon = text.find(':');
    const std::string_view first = text.substr(0, colon), last = colon == text.npos ? first : text.substr(colon + 1);
    const bool open = colon != text.npos;
    matches_.add({{port_range(field, open && first.empty() ? 0 : port_of_word(first),
                              open && last.empty() ? 65535 : port_of_word(last))}},
                 negate_);
  }

  void source_ports() { ports({kSourcePort}); }
  void destination_ports() { ports({kDestinationPort}); }
  void either_ports() { ports({kSourcePort, kDestinationPort}); }
  /** PORT and LOW:HIGH, with commas between them. */
  void ports(std::initializer_list<Field> fields) {
    Term term;
    for (const std::string_view part : split_at(value(), ',')) {
      const auto limits = split_at(part, ':');
      if (limits.size() > 2) throw Error(in_quotes(part) + " is not a port or LOW:HIGH");
      for (const Field field : fields)
        term.push_back({port_range(field, port_of_word(limits.front()), port_of_word(limits.back()))});
    }
    matches_.add(term, negate_);
  }
  static Condition port_range(Field field, uint32_t low, uint32_t high) {
    if (low > high)
      throw Error(format("is not a rule: its lowest port, %u, is larger than the highest, %u", low, high));
    return range_of(place_of(field), low, high);
  }

  void syn() { tcp_flags(0x17, 2); }
  void flags() {
    const uint32_t mask = tcp_flags_of_words(value());
    tcp_flags(mask, tcp_flags_of_words(value()));
  }
  void tcp_flags(uint32_t mask, uint32_t wanted) {
    if ((wanted & ~mask) != 0) throw Error("is not a rule: it wants TCP flags at which it does not look");
    matches_.add(Condition{kTcpFlags, mask, wanted, wanted}, negate_);
  }

  void icmp() {
    const auto parts = split_at(value(), '/');
    uint32_t type = 0, code = 0;
    Alternative both;
    if (parts[0] != "any" && parts[0] != "255") {
      if (!parse_number(parts[0], 255, type) || parts.size() > 2 ||
          (parts.size() > 1 && !parse_number(parts[1], 255, code)))
        throw Error("is not supported: " + in_quotes(words_[at_]) +
                    " is not an ICMP type as a number, TYPE or TYPE/CODE");
      both.push_back(range_of({Place::transport, 1, 0}, type, type));
      if (parts.size() > 1) both.push_back(range_of({Place::transport, 1, 1}, code, code));
    }
    matches_.add(Term{both}, negate_);
  }

  void fragment() { matches_.add(kFirstFragment, !negate_); }
  void comment() { value(); }

  void ttl_is() {
    const uint32_t number = ttl_value();
    ttl(number, number);
  }
  void ttl_below() {
    if (const uint32_t limit = ttl_value(); limit > 0) return ttl(0, limit - 1);
    throw Error("is not a rule: no packet can match it, for what it asks of the TTL");
  }
  void ttl_above() {
    if (const uint32_t limit = ttl_value(); limit < 255) return ttl(limit + 1, 255);
    throw Error("is not a rule: no packet can match it, for what it asks of the TTL");
  }
  uint32_t ttl_value() {
    uint32_t number = 0;
    if (!parse_number(value(), 255, number)) throw Error("is not a rule: " + in_quotes(words_[at_]) + " is not a TTL");
    return number;
  }
  void ttl(uint32_t low, uint32_t high) {
    const Place place{Place::network, 1, static_cast<uint16_t>(matches_.family == 6 ? 7 : 8)};
    matches_.add(range_of(place, low, high), negate_);
  }

  void dscp() {
    uint32_t number = 0;
    if (matches_.family == 6 || !parse_number(value(), 63, number))
      throw Error("is not supported: --dscp takes a number up to 63, and rules of IPv4 only");
    matches_.add(Condition{{Place::network, 1, 1}, 0xfc, number << 2, number << 2}, negate_);
  }

  static constexpr uint32_t kWithPorts[] = {6, 17, 33, 132, 136};

  const std::vector<std::string>& words_;
  size_t at_ = 0;
  bool negate_ = false;
  uint32_t protocol_ = 0;  // that it asks for; 0: none, or all but one
  const std::function<bool(const std::string&)>& is_chain_;
  ChainLine line_;
  std::string answer_;  // of REJECT
  std::set<std::string, std::less<>> modules_;
  std::set<const Option*> used_;
  Matches matches_;
};

constexpr std::string_view kPortModules = "tcp udp sctp dccp udplite";

const Line::Option Line::kOptions[] = {
    {{"-s", "--source"}, "", true, &Line::source},
    {{"-d", "--destination"}, "", true, &Line::destination},
    {{"-p", "--protocol"}, "", true, &Line::protocol},
    {{"-f", "--fragment"}, "", true, &Line::fragment},
    {{"-m", "--match"}, "", false, &Line::module},
    {{"-j", "--jump"}, "", false, &Line::target},
    {{"-g", "--goto"}, "", false, &Line::go},
    {{"--reject-with", "--reject-with"}, "", false, &Line::answer},
    {{"-i", "--in-interface"}, "", true, &Line::interface},
    {{"-o", "--out-interface"}, "", true, &Line::interface},
    {{"--sport", "--source-port"}, kPortModules, true, &Line::source_port},
    {{"--dport", "--destination-port"}, kPortModules, true, &Line::destination_port},
    {{"--sports", "--source-ports"}, "multiport", true, &Line::source_ports},
    {{"--dports", "--destination-ports"}, "multiport", true, &Line::destination_ports},
    {{"--ports", "--ports"}, "multiport", true, &Line::either_ports},
    {{"--tcp-flags", "--tcp-flags"}, "tcp", true, &Line::flags},
    {{"--syn", "--syn"}, "tcp", true, &Line::syn},
    {{"--icmp-type", "--icmp-type"}, "icmp", true, &Line::icmp},
    {{"--icmpv6-type", "--icmpv6-type"}, "icmp6", true, &Line::icmp},
    {{"--src-range", "--src-range"}, "iprange", true, &Line::source_range},
    {{"--dst-range", "--dst-range"}, "iprange", true, &Line::destination_range},
    {{"--ttl-eq", "--ttl-eq"}, "ttl", true, &Line::ttl_is},
    {{"--ttl-lt", "--ttl-lt"}, "ttl", false, &Line::ttl_below},
    {{"--ttl-gt", "--ttl-gt"}, "ttl", false, &Line::ttl_above},
    {{"--dscp", "--dscp"}, "dscp", true, &Line::dscp},
    {{"--comment", "--comment"}, "comment", false, &Line::comment},
    {{}, "", false, nullptr}};

/** Whether it only tells of packets; whatever it asks for, they go on to the next line. */
bool only_logs(const std::vector<std::string>& words) {
  constexpr std::string_view kTargets[] = {"LOG", "NFLOG", "ULOG", "AUDIT"};
  const bool is_goto = std::ranges::count(words, "-g") + std::ranges::count(words, "--goto") > 0;  // to chains alone
  return !is_goto && std::ranges::count(kTargets, target_of(words)) > 0;
}

}  // namespace

std::string target_of(const std::vector<std::string>& words) {
  constexpr std::string_view kJumps[] = {"-j", "--jump", "-g", "--goto"};
  for (size_t i = 2; i + 1 < words.size(); ++i)
    if (std::ranges::count(kJumps, words[i]) > 0) return words[i + 1];
  return {};
}

ChainLine iptables_rule(const std::vector<std::string>& words, int family,
                        const std::function<bool(const std::string&)>& is_chain) {
  if (only_logs(words)) return {};
  return Line(words, family, is_chain).read();
}

}  // namespace heddle::classifier
