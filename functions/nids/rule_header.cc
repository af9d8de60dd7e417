// Addresses and ports of rules, with their lists, variables and negations.

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>
#include <vector>

#include "click/values.h"
#include "core/text_file.h"
#include "functions/nids/rule_file.h"

namespace heddle::nids {
namespace {

constexpr int kMostNested = 16;  // lists in lists, variables in variables
constexpr uint32_t kLargestPort = 65535;

/** One address or prefix, or one port or range of them. */
using ReadItem = std::optional<Refusal> (*)(std::string_view text, Ranges& set);

std::optional<Refusal> read_address(std::string_view text, Ranges& set) {
  if (text.find(':') != text.npos)
    return Refusal{"IPv6 address " + in_quotes(text) + " is not supported", true, "IPv6 addresses are not supported"};
  click::Ipv4Prefix prefix;
  click::Ipv4Address address, last;
  if (const size_t dash = text.find('-'); dash != text.npos && click::parse(trimmed(text.substr(0, dash)), address) &&
                                          click::parse(trimmed(text.substr(dash + 1)), last)) {
    if (address.value > last.value) return Refusal{in_quotes(text) + ": the lower address is the larger one"};
    set = Ranges(address.value, last.value);
    return std::nullopt;
  }
  if (click::parse(text, address))
    prefix = {address.value, 32};
  else if (!click::parse(text, prefix))
    return Refusal{in_quotes(text) + " is not an IPv4 address, prefix, range (LOW-HIGH) or list of them"};
  set = Ranges(prefix.address, prefix.address | static_cast<uint32_t>(~uint64_t{0} >> 32 >> prefix.length));
  return std::nullopt;
}

std::optional<Refusal> read_port(std::string_view text, Ranges& set) {
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
  set = Ranges(limits[0], limits[1]);
  return std::nullopt;
}

/** Collects ranges. They are put in order whenever they have doubled: a list of 100,000 is sorted a few times, and what
 *  is in it again and again takes no memory. */
class Collected {
 public:
  void add(const Ranges& more) {
    ranges_.insert(ranges_.end(), more.all().begin(), more.all().end());
    if (ranges_.size() <= most_) return;
    ranges_ = Ranges(std::move(ranges_)).all();
    most_ = std::max(most_, 2 * ranges_.size());
  }
  Ranges set() { return Ranges(std::move(ranges_)); }

 private:
  std::vector<Ranges::Range> ranges_;
  size_t most_ = 1024;
};

class Sets {
 public:
  Sets(const Variables& variables, ReadItem read_item, uint32_t largest)
      : variables_(variables), read_item_(read_item), largest_(largest) {}

  std::optional<Refusal> read(std::string_view text, Ranges& set, int nested = 0) {
    text = trimmed(text);
    if (nested > kMostNested) return Refusal{"lists or variables are nested more than 16 deep, or name themselves"};
    if (text.starts_with('!')) {
      Ranges others;
      if (auto refusal = read(text.substr(1), others, nested + 1)) return refusal;
      set = others.inverted(largest_);
      return std::nullopt;
    }
    if (text == "any") {
      set = Ranges(0, largest_);
      return std::nullopt;
    }
    if (text.starts_with('$')) {
      if (const auto known = values_.find(text); known != values_.end()) {
        set = known->second;
        return std::nullopt;
      }
      const auto found = variables_.find(text.substr(1));
      if (found == variables_.end())
        return Refusal{"the variable " + in_quotes(text) + " has no value; put 'var " + std::string(text.substr(1)) +
                       " VALUE' before the rule, or into VARIABLES"};
      if (auto refusal = read(found->second, set, nested + 1)) return refusal;
      values_.emplace(text, set);
      return std::nullopt;
    }
    if (text.starts_with('[')) return read_list(text, set, nested);
    return read_item_(text, set);
  }

 private:
  /** [A,B,!C]: what is in A or B, or anything if nothing is asked for, and not in C. */
  std::optional<Refusal> read_list(std::string_view text, Ranges& set, int nested) {
    if (!text.ends_with(']')) return Refusal{in_quotes(text) + " has no ']' at its end"};
    text = text.substr(1, text.size() - 2);
    if (trimmed(text).empty()) return Refusal{"'[]' is a list of nothing; for anything, write any"};
    Collected wanted, unwanted;
    bool some_wanted = false;
    while (!text.empty()) {
      int depth = 0;
      size_t end = 0;
      for (; end < text.size() && (depth > 0 || text[end] != ','); ++end)
        depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
      std::string_view item = trimmed(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      const bool negated = item.starts_with('!');
      Ranges one;
      if (auto refusal = read(negated ? item.substr(1) : item, one, nested + 1)) return refusal;
      (negated ? unwanted : wanted).add(one);
      some_wanted = some_wanted || !negated;
    }
    if (!some_wanted) wanted.add(Ranges(0, largest_));
    // Without the unwanted: not (not wanted, or unwanted).
    unwanted.add(wanted.set().inverted(largest_));
    set = unwanted.set().inverted(largest_);
    return std::nullopt;
  }

  const Variables& variables_;
  ReadItem read_item_;
  uint32_t largest_;
  std::map<std::string, Ranges, std::less<>> values_;  // of "$NAME", as far as they are known: each is read once
};

std::optional<Refusal> not_empty(const Ranges& set, std::string_view text) {
  if (!set.empty()) return std::nullopt;
  return Refusal{in_quotes(text) + " leaves nothing that could match"};
}

}  // namespace

std::optional<Refusal> parse_addresses(std::string_view text, const Variables& variables, Ranges& addresses) {
  if (auto refusal = Sets(variables, read_address, UINT32_MAX).read(text, addresses)) return refusal;
  return not_empty(addresses, text);
}

std::optional<Refusal> parse_ports(std::string_view text, const Variables& variables, Ranges& ports) {
  if (auto refusal = Sets(variables, read_port, kLargestPort).read(text, ports)) return refusal;
  return not_empty(ports, text);
}

}  // namespace heddle::nids
