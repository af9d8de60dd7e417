#include "convert/rules/words.h"

#include <arpa/inet.h>
#include <netdb.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "click/values.h"
#include "core/error.h"
#include "core/text_file.h"
#include "functions/classifier/rule_text.h"

namespace heddle::classifier {
namespace {

using Wide = unsigned __int128;

std::optional<Wide> parse_ip6(std::string_view text) {
  uint8_t bytes[16];
  const std::string address(text);
  if (address.size() >= INET6_ADDRSTRLEN || inet_pton(AF_INET6, address.c_str(), bytes) != 1) return std::nullopt;
  Wide value = 0;
  for (const uint8_t byte : bytes) value = value << 8 | byte;
  return value;
}

Alternative prefix_of(Wide address, int length, Field field) {
  uint8_t bytes[16];
  for (int i = 15; i >= 0; --i) bytes[i] = static_cast<uint8_t>(address), address >>= 8;
  return prefix6(bytes, length, field);
}

/** Prefixes that are the range together. */
Term prefixes_of(Wide low, Wide high, Field field) {
  Term term;
  while (true) {
    int length = 128;
    while (length > 0) {
      const Wide host = length == 1 ? ~Wide{0} : (Wide{1} << (129 - length)) - 1;
      if ((low & host) != 0 || high - low < host) break;
      --length;
    }
    term.push_back(prefix_of(low, length, field));
    const Wide last = length == 0 ? ~Wide{0} : low | ((length == 128 ? Wide{1} : Wide{1} << (128 - length)) - 1);
    if (last >= high) return term;
    low = last + 1;
  }
}

Term addresses6(std::string_view text, Field field) {
  const Error none(in_quotes(text) + " is not an IPv6 address, a prefix or a range");
  if (const size_t sign = text.find('-'); sign != text.npos) {
    const auto low = parse_ip6(text.substr(0, sign)), high = parse_ip6(text.substr(sign + 1));
    if (!low || !high) throw none;
    if (*low > *high) throw Error(in_quotes(text) + ": its lowest address is larger than the highest");
    return prefixes_of(*low, *high, field);
  }
  const size_t slash = text.find('/');
  if (const auto mask = slash == text.npos ? std::nullopt : parse_ip6(text.substr(slash + 1))) {
    const auto address = parse_ip6(text.substr(0, slash));
    if (!address) throw none;
    Alternative all{kIsIp6};
    for (int word = 0; word < 4; ++word) {
      const auto bits = static_cast<uint32_t>(*mask >> (96 - 32 * word)),
                 value = static_cast<uint32_t>(*address >> (96 - 32 * word)) & bits;
      if (bits != 0) all.push_back({word == 0 ? place_of(field) : word_of(field, word), bits, value, value});
    }
    return {all};
  }
  const auto conditions = parse_prefix6(text, field);
  if (!conditions) throw none;
  return {*conditions};
}

using Numbers = std::map<std::string, uint32_t, std::less<>>;

/** The first of several of one name counts, as with getservbyname(). */
Numbers services_of_system() {
  Numbers numbers;
  setservent(1);
  while (const servent* entry = getservent()) {
    const uint32_t port = ntohs(static_cast<uint16_t>(entry->s_port));
    numbers.try_emplace(entry->s_name, port);
    for (char** alias = entry->s_aliases; *alias != nullptr; ++alias) numbers.try_emplace(*alias, port);
  }
  endservent();
  return numbers;
}
Numbers protocols_of_system() {
  Numbers numbers;
  setprotoent(1);
  while (const protoent* entry = getprotoent()) {
    const auto number = static_cast<uint32_t>(entry->p_proto);
    numbers.try_emplace(entry->p_name, number);
    for (char** alias = entry->p_aliases; *alias != nullptr; ++alias) numbers.try_emplace(*alias, number);
  }
  endprotoent();
  return numbers;
}

}  // namespace

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(trimmed(text.substr(0, at)));
    if (at == text.npos) return parts;
    text.remove_prefix(at + 1);
  }
}

uint32_t protocol_of_word(std::string_view text) {
  uint32_t number = 0;
  if (parse_number(text, 255, number)) return number;
  if (const auto known = protocol_named(text)) return *known;
  static const Numbers protocols = protocols_of_system();
  if (const auto known = protocols.find(text); known != protocols.end()) return known->second;
  throw Error(in_quotes(text) + " is not a protocol");
}

uint32_t port_of_word(std::string_view text) {
  uint32_t number = 0;
  if (parse_number(text, 65535, number)) return number;
  static const Numbers services = services_of_system();
  if (const auto known = services.find(text); known != services.end()) return known->second;
  throw Error(in_quotes(text) + " is not a port, 0 to 65535, or the name of a service");
}

uint32_t tcp_flags_of_words(std::string_view text, char separator) {
  constexpr std::pair<const char*, uint32_t> kFlags[] = {{"fin", 1},  {"syn", 2},  {"rst", 4},  {"psh", 8},
                                                         {"ack", 16}, {"urg", 32}, {"ecn", 64}, {"cwr", 128},
                                                         {"all", 63}, {"none", 0}};
  uint32_t flags = 0;
  for (const std::string_view word : split_at(text, separator)) {
    std::string name(word);
    std::ranges::transform(name, name.begin(),
                           [](char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    const auto* known = std::ranges::find(kFlags, name, [](const auto& flag) { return std::string(flag.first); });
    uint32_t number = 0;
    if (known == std::end(kFlags) && !parse_number(word, 255, number))
      throw Error(in_quotes(word) + " is not a TCP flag; there are fin, syn, rst, psh, ack, urg, ecn, cwr");
    flags |= known == std::end(kFlags) ? number : known->second;
  }
  return flags;
}

Term addresses_of_word(std::string_view text, Field field, int family) {
  if (family == 6) return addresses6(text, field);
  const Error none(in_quotes(text) + " is not an IPv4 address, a prefix or a range");
  click::Ipv4Address low, high;
  if (const size_t sign = text.find('-'); sign != text.npos) {
    if (!click::parse(text.substr(0, sign), low) || !click::parse(text.substr(sign + 1), high)) throw none;
    if (low.value > high.value) throw Error(in_quotes(text) + ": its lowest address is larger than the highest");
    return {{range_of(place_of(field), low.value, high.value)}};
  }
  const size_t slash = text.find('/');
  uint32_t length = 32;
  click::Ipv4Address mask{~0u};
  if (!click::parse(text.substr(0, slash), low)) throw none;
  if (slash != text.npos) {
    if (parse_number(text.substr(slash + 1), 32, length))
      mask.value = static_cast<uint32_t>(~(~uint64_t{0} >> 32 >> length));
    else if (!click::parse(text.substr(slash + 1), mask))
      throw none;
  }
  return {{{place_of(field), mask.value, low.value & mask.value, low.value & mask.value}}};
}

}  // namespace heddle::classifier
