// Addresses and ports of rules, with their lists, variables and negations.

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "click/values.h"
#include "core/text_file.h"
#include "elements/ip6/addresses.h"
#include "functions/nids/rule_file.h"

namespace heddle::nids {
namespace {

constexpr int kMaxNested = 16;  // lists in lists, variables in variables
constexpr uint32_t kLargestPort = 65535;

/** What a text says of numbers of one kind, such as IPv4 addresses: `named` if it names some, or some that it does not
 *  want. A text that does not is not for that kind, so `!10.0.0.0/8` has no IPv6 address (as in Suricata). */
template <class T>
struct Part {
  RangesOf<T> set;
  bool named = false;

  void name(RangesOf<T> what) { set = std::move(what), named = true; }
};
using PortParts = std::tuple<Part<uint32_t>>;
using AddressParts = std::tuple<Part<uint32_t>, Part<Wide>>;

/** Reads an address, a prefix or a range of addresses. `parse_address(text, address)`, and `parse_prefix(text, first,
 *  last)`: whether the text is one. */
template <class T, class ParseAddress, class ParsePrefix>
std::optional<Refusal> read_addresses(std::string_view text, const char* version, const ParseAddress& parse_address,
                                      const ParsePrefix& parse_prefix, Part<T>& part) {
  T first = 0, last = 0;
  if (const size_t dash = text.find('-'); dash != text.npos && parse_address(trimmed(text.substr(0, dash)), first) &&
                                          parse_address(trimmed(text.substr(dash + 1)), last)) {
    if (first > last) return Refusal{in_quotes(text) + ": the lower address is the larger one"};
  } else if (parse_address(text, first)) {
    last = first;
  } else if (!parse_prefix(text, first, last)) {
    return Refusal{in_quotes(text) + " is not an " + version + " address, prefix, range (LOW-HIGH) or list of them"};
  }
  part.name({first, last});
  return std::nullopt;
}

bool parse_ip4(std::string_view text, uint32_t& address) {
  click::Ipv4Address read;
  if (!click::parse(text, read)) return false;
  address = read.value;
  return true;
}

bool parse_prefix4(std::string_view text, uint32_t& first, uint32_t& last) {
  click::Ipv4Prefix prefix;
  if (!click::parse(text, prefix)) return false;
  first = prefix.address;
  last = prefix.address | static_cast<uint32_t>(uint64_t{kLargestIp4} >> prefix.length);
  return true;
}

bool parse_ip6(std::string_view text, Wide& address) {
  Ip6Argument read;
  if (!parse(text, read)) return false;
  address = 0;
  for (const uint8_t byte : read.address) address = address << 8 | byte;
  return true;
}

bool parse_prefix6(std::string_view text, Wide& first, Wide& last) {
  const size_t slash = text.find('/');
  int length = 0;
  if (slash == text.npos || !parse_ip6(text.substr(0, slash), first) ||
      !click::parse(text.substr(slash + 1), length, 0, 128))
    return false;
  const Wide behind = length == 128 ? 0 : kLargestIp6 >> length;
  first &= ~behind, last = first | behind;
  return true;
}

std::optional<Refusal> read_address(std::string_view text, AddressParts& parts) {
  if (text.find(':') != text.npos)
    return read_addresses(text, "IPv6", parse_ip6, parse_prefix6, std::get<Part<Wide>>(parts));
  return read_addresses(text, "IPv4", parse_ip4, parse_prefix4, std::get<Part<uint32_t>>(parts));
}

std::optional<Refusal> read_port(std::string_view text, PortParts& set) {
  const size_t colon = text.find(':');
  const std::string_view parts[] = {text.substr(0, colon), colon == text.npos ? text : text.substr(colon + 1)};
  uint32_t limits[] = {0, kLargestPort};
  for (size_t p = 0; p < 2; ++p) {
    if (parts[p].empty() && colon != text.npos && text.size() > 1) continue;  // ":1024", "1024:"
    const auto [end, error] = std::from_chars(parts[p].data(), parts[p].data() + parts[p].size(), limits[p]);
    if (error != std::errc() || end != parts[p].data() + parts[p].size() || limits[p] > kLargestPort)
      return Refusal{in_quotes(text) + " is not a port, 0 to 65535, or LOW:HIGH"};
  }
  if (limits[0] > limits[1]) return Refusal{in_quotes(text) + ": the lower port is the larger one"};
  std::get<0>(set).name({limits[0], limits[1]});
  return std::nullopt;
}

/** Collects ranges. They are put in order whenever they have doubled: a list of 100,000 is sorted a few times, and what
 *  is in it again and again takes no memory. */
template <class T>
class Collected {
 public:
  void add(const RangesOf<T>& more) {
    ranges_.insert(ranges_.end(), more.all().begin(), more.all().end());
    if (ranges_.size() <= most_) return;
    ranges_ = RangesOf<T>(std::move(ranges_)).all();
    most_ = std::max(most_, 2 * ranges_.size());
  }
  RangesOf<T> set() { return RangesOf<T>(std::move(ranges_)); }

 private:
  std::vector<typename RangesOf<T>::Range> ranges_;
  size_t most_ = 1024;
};

/** Reads sets whose numbers are of these kinds. */
template <class... T>
class Sets {
 public:
  using Parts = std::tuple<Part<T>...>;
  /** One address or prefix, or one port, or a range of them. */
  using ReadItem = std::optional<Refusal> (*)(std::string_view text, Parts& parts);

  Sets(const Variables& variables, ReadItem read_item, T... largest)
      : variables_(variables), read_item_(read_item), largest_(largest...) {}

  std::optional<Refusal> read(std::string_view text, Parts& parts, int nested = 0) {
    text = trimmed(text);
    if (nested > kMaxNested) return Refusal{"lists or variables are nested more than 16 deep, or name themselves"};
    if (text.starts_with('!')) {
      if (auto refusal = read(text.substr(1), parts, nested + 1)) return refusal;
      each(
          [](auto& part, auto largest) {
            if (part.named) part.set = part.set.inverted(largest);
          },
          parts);
      return std::nullopt;
    }
    if (lower_case(text.substr(0, 4)) == "any") {
      each([](auto& part, auto largest) { part.name({0, largest}); }, parts);
      return std::nullopt;
    }
    if (text.starts_with('$')) {
      if (const auto known = values_.find(text); known != values_.end()) {
        parts = known->second;
        return std::nullopt;
      }
      const auto found = variables_.find(text.substr(1));
      if (found == variables_.end())
        return Refusal{"the variable " + in_quotes(text) + " has no value; put 'var " + std::string(text.substr(1)) +
                       " VALUE' before the rule, or into VARIABLES"};
      if (auto refusal = read(found->second, parts, nested + 1)) return refusal;
      values_.emplace(text, parts);
      return std::nullopt;
    }
    if (text.starts_with('[')) return read_list(text, parts, nested);
    return read_item_(text, parts);
  }

 private:
  template <class N>
  struct List {
    Collected<N> wanted, unwanted;
    bool some_wanted = false, some_unwanted = false;
  };

  /** [A,B,!C]: what is in A or B, or anything if nothing is asked for, and not in C. */
  std::optional<Refusal> read_list(std::string_view text, Parts& parts, int nested) {
    if (!text.ends_with(']')) return Refusal{in_quotes(text) + " has no ']' at its end"};
    text = text.substr(1, text.size() - 2);
    if (trimmed(text).empty()) return Refusal{"'[]' is a list of nothing; for anything, write any"};
    std::tuple<List<T>...> lists;
    while (!text.empty()) {
      int depth = 0;
      size_t end = 0;
      for (; end < text.size() && (depth > 0 || text[end] != ','); ++end)
        depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
      std::string_view item = trimmed(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      const bool negated = item.starts_with('!');
      Parts one;
      if (auto refusal = read(negated ? item.substr(1) : item, one, nested + 1)) return refusal;
      each(
          [&](auto& list, auto& part, auto) {
            if (!part.named) return;
            (negated ? list.unwanted : list.wanted).add(part.set);
            (negated ? list.some_unwanted : list.some_wanted) = true;
          },
          lists, one);
    }
    each(
        [](auto& list, auto& part, auto largest) {
          if (!list.some_wanted && !list.some_unwanted) return;
          if (!list.some_wanted) list.wanted.add({0, largest});
          // Without the unwanted: not (not wanted, or unwanted).
          list.unwanted.add(list.wanted.set().inverted(largest));
          part.name(list.unwanted.set().inverted(largest));
        },
        lists, parts);
    return std::nullopt;
  }

  /** Calls `visit`, for each kind, with what these tuples have of it and its largest number. */
  template <class Visit, class... Tuples>
  void each(const Visit& visit, Tuples&... tuples) const {
    const auto one = [&]<size_t kind>(std::integral_constant<size_t, kind>) {
      visit(std::get<kind>(tuples)..., std::get<kind>(largest_));
    };
    [&]<size_t... kinds>(std::index_sequence<kinds...>) { (one(std::integral_constant<size_t, kinds>()), ...); }
    (std::index_sequence_for<T...>());
  }

  const Variables& variables_;
  ReadItem read_item_;
  std::tuple<T...> largest_;
  std::map<std::string, Parts, std::less<>> values_;  // of "$NAME", as far as they are known: each is read once
};

template <class Set>
std::optional<Refusal> not_empty(const Set& set, std::string_view text) {
  if (!set.empty()) return std::nullopt;
  return Refusal{in_quotes(text) + " leaves nothing that could match"};
}

}  // namespace

std::optional<Refusal> parse_addresses(std::string_view text, const Variables& variables, Addresses& addresses) {
  AddressParts parts;
  if (auto refusal = Sets<uint32_t, Wide>(variables, read_address, kLargestIp4, kLargestIp6).read(text, parts))
    return refusal;
  addresses = {std::move(std::get<0>(parts).set), std::move(std::get<1>(parts).set)};
  return not_empty(addresses, text);
}

std::optional<Refusal> parse_ports(std::string_view text, const Variables& variables, Ranges& ports) {
  PortParts parts;
  if (auto refusal = Sets<uint32_t>(variables, read_port, kLargestPort).read(text, parts)) return refusal;
  ports = std::move(std::get<0>(parts).set);
  return not_empty(ports, text);
}

}  // namespace heddle::nids
