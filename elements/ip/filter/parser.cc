#include "elements/ip/filter/parser.h"

#include <algorithm>

#include "click/diagnostics.h"
#include "click/quoting.h"
#include "click/values.h"
#include "core/error.h"
#include "elements/ip/filter/primitive.h"

namespace heddle::ip_filter {
namespace {

constexpr int kDeepest = 100;        // nested parentheses, ?: and "not"
constexpr int kFurthestByte = 8191;  // of ip[POS] and the like

bool is_name_character(char c) {
  return click::is_word_character(c) || c == '-' || c == '.' || c == '/' || c == '@' || c == ':';
}

bool is_any(std::string_view word, std::initializer_list<std::string_view> words) {
  for (auto& candidate : words)
    if (word == candidate) return true;
  return false;
}

bool integer(std::string_view word, uint32_t& value) { return click::parse(word, value); }

/** a.b.c.d/length and a.b.c.d/m.m.m.m; with fewer than four numbers the rest are 0. */
bool network(std::string_view word, click::Ipv4Prefix& prefix) {
  const size_t slash = word.find('/');
  if (slash == std::string_view::npos || slash == 0) return false;
  std::string address(word.substr(0, slash));
  for (auto dots = std::count(address.begin(), address.end(), '.'); dots < 3; ++dots) address += ".0";
  return click::parse(address + std::string(word.substr(slash)), prefix);
}

uint32_t mask_of_length(int length) { return length == 0 ? 0 : ~0u << (32 - length); }

class Parser {
 public:
  Parser(const std::vector<Word>& words, size_t first, size_t end, const click::AddressNames& names)
      : words_(words), at_(first), end_(end), names_(names) {}

  Expression pattern() {
    if (at_ == words_.size()) return {};
    if (at_ + 1 == words_.size() && is_any(word(), {"-", "any", "all"})) return {};
    Expression result = expression();
    if (at_ < words_.size()) fail(word() == ")" ? "needed; there is no '(' before it" : "expected here");
    return result;
  }

 private:
  bool more() const { return at_ < words_.size(); }
  std::string_view word(size_t ahead = 0) const {
    return at_ + ahead < words_.size() ? words_[at_ + ahead].text : std::string_view();
  }
  [[noreturn]] void fail_at(size_t index, std::string expected) const {
    if (index >= words_.size()) throw Mistake{end_, "end of the pattern", std::move(expected)};
    throw Mistake{words_[index].at, std::string(words_[index].text), std::move(expected)};
  }
  [[noreturn]] void fail(std::string expected) const { fail_at(at_, std::move(expected)); }

  Expression expression() {
    if (++depth_ > kDeepest)
      fail(format("allowed here; expected at most %d parentheses and ?: in each other", kDeepest));
    Expression choice{Expression::kChoose, {}, {}};
    while (true) {
      choice.parts.push_back(any());
      if (word() != "?") break;
      ++at_;
      choice.parts.push_back(expression());
      if (word() != ":") fail("':', which '?' needs, with spaces around it");
      ++at_;
    }
    --depth_;
    return choice.parts.size() == 1 ? std::move(choice.parts[0]) : std::move(choice);
  }

  Expression any() {
    std::vector<Expression> parts;
    parts.push_back(all());
    while (is_any(word(), {"or", "||"})) {
      ++at_;
      parts.push_back(all());
    }
    return parts.size() == 1 ? std::move(parts[0]) : Expression::any(std::move(parts));
  }

  Expression all() {
    std::vector<Expression> parts;
    while (true) {
      parts.push_back(factor());
      if (is_any(word(), {"and", "&&"}))
        ++at_;
      else if (!more() || is_any(word(), {")", "or", "||", "?", ":"}))
        break;
    }
    return parts.size() == 1 ? std::move(parts[0]) : Expression::all(std::move(parts));
  }

  Expression factor() {
    bool negated = false;
    for (; is_any(word(), {"not", "!"}); ++at_) negated = !negated;
    Expression result;
    if (word() == "true" || word() == "false") {
      negated = negated != (word() == "false");
      ++at_;
    } else if (word() == "(") {
      ++at_;
      result = expression();
      if (word() != ")") fail("')', which '(' needs");
      ++at_;
    } else {
      result = directive(negated);
    }
    return negated ? Expression::negated(std::move(result)) : result;
  }

  Expression directive(bool& negated) {
    const size_t first = at_;
    Primitive primitive;
    while (qualifier(primitive, negated)) ++at_;
    const bool qualified = at_ > first;
    if (word() == "[" && qualified) brackets(primitive);
    if (word() == "&") mask(primitive);
    if (relation(primitive)) ++at_;
    const size_t value_at = at_;
    if (value(primitive)) {
      ++at_;
      if (primitive.data == Primitive::Data::kHost && word() == "mask") network_mask(primitive);
    } else if (at_ == first || primitive.has_relation || primitive.mask ||
               !(valueless(primitive) || ends_directive())) {
      unknown_word(primitive);
    }
    try {
      primitive.complete(qualified ? Primitive{} : before_);
    } catch (const Error& error) {
      fail_at(value_at < at_ || value_at == words_.size() ? value_at : at_ - 1, error.what());
    }
    before_ = primitive;
    return primitive.expression();
  }

  /** What may follow a directive without a value, such as "tcp". */
  bool ends_directive() const {
    return !more() || is_any(word(), {"and", "&&", "or", "||", ")", "?", ":", "(", "true", "false"});
  }
  static bool valueless(const Primitive& primitive) {
    return primitive.type == Type::kFragment || primitive.type == Type::kUnfragmented || primitive.type == Type::kCe ||
           primitive.type == Type::kEct;
  }

  /** Whether the word is one that comes before values; taken into `primitive`. */
  bool qualifier(Primitive& primitive, bool& negated) {
    if (word() == "ip") return true;
    if (word() == "ether") {
      if (primitive.type != Type::kNone) fail("allowed here: this directive says already what it is about");
      primitive.type = Type::kEther;
      return true;
    }
    if (word() == "host" && primitive.type == Type::kEther) return true;
    if (is_any(word(), {"not", "!"})) {
      negated = !negated;
      return true;
    }
    if (const TypeWord* found = find_type(word())) {
      if (primitive.type != Type::kNone) fail("allowed here: this directive says already what it is about");
      primitive.type = found->type;
      primitive.field = found->field;
      return true;
    }
    if (const auto proto = find_protocol(word())) {
      if (primitive.proto && *primitive.proto != *proto) fail("the transport protocol that the directive names first");
      primitive.proto = proto;
      return true;
    }
    if (!is_any(word(), {"src", "dst", "dest"})) return false;
    if (primitive.direction != Primitive::kUnsaid) fail("allowed here: 'src' or 'dst' has been said");
    primitive.direction = word() == "src" ? Primitive::kSource : Primitive::kDestination;
    const bool both = is_any(word(1), {"and", "&&"}), either = is_any(word(1), {"or", "||"});
    if (word() == "src" && is_any(word(2), {"dst", "dest"}) && (both || either)) {
      primitive.direction = both ? Primitive::kBoth : Primitive::kEither;
      at_ += 2;
    }
    return true;
  }

  /** [POS], [POS:LEN] and [FIRST,LAST]. */
  void brackets(Primitive& primitive) {
    const size_t open = at_++;
    std::string inside;
    for (; more() && word() != "]"; ++at_) inside += word();
    if (!more()) fail("']', which '[' needs");
    const size_t separator = inside.find_first_of(":,");
    uint32_t position = 0, length = 1;
    bool good = integer(std::string_view(inside).substr(0, separator), position) && position <= kFurthestByte;
    if (good && separator != std::string::npos) {
      good = integer(std::string_view(inside).substr(separator + 1), length);
      if (inside[separator] == ',') length = length - position + 1;
    }
    if (!good || length < 1 || length > 4)
      fail_at(open, format("followed by a place; expected [POS] or [POS:LEN], POS from 0 to %d, LEN from 1 to 4 bytes",
                           kFurthestByte));
    if (primitive.type != Type::kNone) fail_at(open, "allowed here: this directive says already what it is about");
    ++at_;
    primitive.type = Type::kField;
    primitive.field = {primitive.proto.value_or(-1), static_cast<int>(position) * 8, static_cast<int>(length) * 8};
  }

  void mask(Primitive& primitive) {
    ++at_;
    uint32_t bits = 0;
    click::Ipv4Address address;
    if (!integer(word(), bits)) {
      if (!click::parse(word(), address)) fail("a mask such as 0xff or 255.255.255.0");
      bits = address.value;
    }
    if (bits == 0) fail("a mask with at least one bit");
    primitive.mask = bits;
    ++at_;
  }

  bool relation(Primitive& primitive) {
    static constexpr std::pair<std::string_view, Relation> kRelations[] = {
        {"=", Relation::kEqual},         {"==", Relation::kEqual},  {"!=", Relation::kUnequal},
        {"<", Relation::kLess},          {">", Relation::kGreater}, {"<=", Relation::kLessEqual},
        {">=", Relation::kGreaterEqual},
    };
    for (auto& [sign, meaning] : kRelations) {
      if (word() != sign) continue;
      primitive.relation = meaning;
      primitive.has_relation = true;
      return true;
    }
    return false;
  }

  /** Whether the word is a value, as far as `primitive` wants one; taken into it. */
  bool value(Primitive& primitive) {
    using Data = Primitive::Data;
    if (!more()) return false;
    if (integer(word(), primitive.value)) {
      primitive.data = Data::kInteger;
      return true;
    }
    click::EthernetAddress ethernet;
    if (click::parse(word(), ethernet) || (primitive.type == Type::kEther && names_.find(word(), ethernet)))
      return take_ethernet(primitive, ethernet);
    click::Ipv4Address address;
    click::Ipv4Prefix prefix;
    if (click::parse(word(), address)) return take_host(primitive, address);
    if (network(word(), prefix)) return take_network(primitive, prefix);
    if (valueless(primitive)) return false;
    return named_address(primitive) || name(primitive);
  }
  static bool take_host(Primitive& primitive, click::Ipv4Address address) {
    primitive.data = Primitive::Data::kHost;
    primitive.value = address.value;
    return true;
  }
  static bool take_ethernet(Primitive& primitive, const click::EthernetAddress& address) {
    primitive.data = Primitive::Data::kEther;
    primitive.ethernet = 0;
    for (const uint8_t byte : address.bytes) primitive.ethernet = primitive.ethernet << 8 | byte;
    return true;
  }
  static bool take_network(Primitive& primitive, const click::Ipv4Prefix& prefix) {
    primitive.data = Primitive::Data::kNet;
    primitive.value = prefix.address;
    primitive.net_mask = mask_of_length(prefix.length);
    return true;
  }

  /** A name of AddressInfo: the address that it has or, behind "net" or if it has none, its prefix. */
  bool named_address(Primitive& primitive) {
    const bool net = primitive.type == Type::kNet;
    if (!net && primitive.type != Type::kNone && primitive.type != Type::kHost) return false;
    click::Ipv4Address address;
    click::Ipv4Prefix prefix;
    if (!net && names_.find(word(), address)) return take_host(primitive, address);
    return primitive.type != Type::kHost && names_.find(word(), prefix) && take_network(primitive, prefix);
  }

  /** Of the name `proto` has for it; `ask_host`: /etc/services counts, too. */
  std::optional<uint32_t> port(int proto, bool ask_host) const {
    using click::Port;
    Port port{.protocol = proto == kTcp ? Port::kTcp : proto == kUdp ? Port::kUdp : Port::kTcpOrUdp};
    const bool known = ask_host ? names_.find(word(), port) : names_.book.find_known(names_.element, word(), port);
    return known ? std::optional<uint32_t>(port.number) : std::nullopt;
  }

  /** A name means a port, an ICMP type, ... as the directive's type and protocol allow. */
  bool name(Primitive& primitive) {
    using Data = Primitive::Data;
    const int proto = primitive.proto.value_or(kTcpOrUdp);
    const bool untyped = primitive.type == Type::kNone;
    const bool for_ports = proto == kTcp || proto == kUdp || proto == kTcpOrUdp;
    const bool is_icmp_type =
        primitive.type == Type::kField && primitive.field.proto == kIcmp && primitive.field.offset == 0;
    struct Meaning {
      const char* example;
      Data data;
      std::optional<uint32_t> value;
      bool allowed;
    };
    const auto protocol = find_protocol(word());
    const auto option = find_tcp_option(word()), icmp_type = find_icmp_type(word());
    const Meaning meanings[] = {
        {"proto ", Data::kProto, protocol ? std::optional(static_cast<uint32_t>(*protocol)) : std::nullopt,
         untyped || primitive.type == Type::kProto},
        {"port ", Data::kPort, port(proto, !protocol && !option && !icmp_type),
         (untyped || primitive.type == Type::kPort) && for_ports},
        {"tcp opt ", Data::kTcpOption, option,
         (untyped || primitive.type == Type::kTcpOption) && (proto == kTcp || proto == kTcpOrUdp)},
        {"icmp type ", Data::kIcmpType, icmp_type, (untyped && (!primitive.proto || proto == kIcmp)) || is_icmp_type},
    };
    int known = 0, fitting = 0;
    std::string examples;
    for (auto& meaning : meanings) {
      if (!meaning.value) continue;
      ++known;
      examples += (examples.empty() ? "'" : " or '") + (meaning.example + std::string(word())) + "'";
      if (!meaning.allowed) continue;
      ++fitting;
      primitive.data = meaning.data;
      primitive.value = *meaning.value;
    }
    if (known == 0) return false;
    if (fitting != 1) fail((fitting > 1 ? "clear; expected " : "meaningful here; expected ") + examples);
    return true;
  }

  void network_mask(Primitive& primitive) {
    ++at_;
    click::Ipv4Address bits;
    if (!click::parse(word(), bits)) fail("a mask such as 255.255.255.0");
    primitive.data = Primitive::Data::kNet;
    primitive.net_mask = bits.value;
    ++at_;
  }

  [[noreturn]] void unknown_word(const Primitive& primitive) const {
    const char* expected = "a word of the filter language; expected a directive such as tcp, port 80 or src 10.0.0.0/8";
    if (more() && primitive.type == Type::kPort)
      expected = "a port; expected 0 to 65535 or a name that is the same port at TCP and UDP, or tcp or udp before it";
    else if (primitive.type == Type::kEther)
      expected = "an Ethernet address such as 0:1:2:3:4:5, which 'ether' needs";
    else if (primitive.has_relation || primitive.mask)
      expected = "a value; expected a number, an address or a name";
    const bool known = std::count(all_words().begin(), all_words().end(), word()) > 0;
    fail(expected + (more() && !known ? click::suggestion(word(), all_words()) : std::string()));
  }

  const std::vector<Word>& words_;
  size_t at_, end_;
  const click::AddressNames& names_;
  int depth_ = 0;
  Primitive before_;  // the last directive, for what the next one leaves out
};

}  // namespace

std::vector<Word> split(std::string_view text) {
  std::vector<Word> words;
  for (size_t at = 0; at < text.size();) {
    if (click::is_space(text[at])) {
      ++at;
      continue;
    }
    size_t end = at + 1;
    const char next = end < text.size() ? text[end] : '\0';
    if (is_name_character(text[at])) {
      while (end < text.size() && is_name_character(text[end])) ++end;
    } else if (((text[at] == '&' || text[at] == '|') && next == text[at]) ||
               (next == '=' && is_any(text.substr(at, 1), {"<", ">", "!", "="}))) {
      ++end;
    }
    words.push_back({at, text.substr(at, end - at)});
    at = end;
  }
  return words;
}

Expression parse(const std::vector<Word>& words, size_t first, size_t end_of_text, const click::AddressNames& names) {
  return Parser(words, first, end_of_text, names).pattern();
}

}  // namespace heddle::ip_filter
