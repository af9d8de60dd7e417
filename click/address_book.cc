#include "click/address_book.h"

#include <algorithm>

#include "click/diagnostics.h"
#include "click/quoting.h"

namespace heddle::click {

namespace {

/** "a/b/" of "a/b/c": the compound element around an element or around a compound element with its slash. */
std::string_view around(std::string_view name) {
  if (name.ends_with('/')) name.remove_suffix(1);
  return name.substr(0, name.rfind('/') + 1);
}

/** Splits "NAME:kind" into name and kind, in small letters; without a colon the kind is "". */
std::pair<std::string_view, std::string> split_kind(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos) return {text, ""};
  std::string kind(text.substr(colon + 1));
  std::transform(kind.begin(), kind.end(), kind.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  return {text.substr(0, colon), kind.empty() ? ":" : kind};
}

}  // namespace

AddressBook::AddressBook(const Graph& graph) {
  for (const ElementDeclaration& element : graph.elements) {
    if (element.class_name != "AddressInfo") continue;
    for (const Argument& argument : element.arguments) add(element.name, argument.text);
  }
}

std::string AddressBook::add(std::string_view element, std::string_view argument) {
  const std::vector<std::string_view> words = split_words(argument);
  if (words.empty()) return "";  // Click allows an empty argument
  if (words.size() == 1) return in_quotes(argument) + " is not a name and its addresses, such as 'host 10.0.0.1'";
  Entry& entry = entries_[std::string(around(element)) + std::string(words[0])];
  for (size_t i = 1; i < words.size(); ++i) {
    Ipv4Address address;
    Ipv4Prefix prefix;
    EthernetAddress ethernet;
    if (parse(words[i], address)) {
      entry.address = address;
    } else if (parse(words[i], prefix)) {
      entry.prefix = prefix;
      // 10.0.0.1/8 is the address of a host and the prefix of its network.
      if (parse(words[i].substr(0, words[i].find('/')), address) && address.value != prefix.address)
        entry.address = address;
    } else if (parse(words[i], ethernet)) {
      entry.ethernet = ethernet;
    } else {
      return in_quotes(words[0]) + ": " + in_quotes(words[i]) +
             " is not an IPv4 address, an IPv4 prefix or an Ethernet address";
    }
  }
  return "";
}

template <class T>
bool AddressBook::find(std::string_view element, std::string_view name, std::optional<T> Entry::*kind, T& value) const {
  std::string_view scope = element;
  do {
    scope = around(scope);
    const auto found = entries_.find(std::string(scope) + std::string(name));
    if (found == entries_.end() || !(found->second.*kind)) continue;
    value = *(found->second.*kind);
    return true;
  } while (!scope.empty());
  return false;
}

bool AddressBook::find(std::string_view element, std::string_view text, Ipv4Address& value) const {
  const auto [name, kind] = split_kind(text);
  if (kind.empty() || kind == "ip" || kind == "ip4") return find(element, name, &Entry::address, value);
  Ipv4Prefix prefix;
  if ((kind != "bcast" && kind != "gw") || !find(element, name, &Entry::prefix, prefix)) return false;
  const uint32_t hosts = prefix.length == 0 ? ~uint32_t{0} : (uint32_t{1} << (32 - prefix.length)) - 1;
  value.value = prefix.address | (kind == "bcast" ? hosts : 1);  // Click: the gateway is the first address
  return true;
}

bool AddressBook::find(std::string_view element, std::string_view text, Ipv4Prefix& value) const {
  const auto [name, kind] = split_kind(text);
  const bool fits = kind.empty() || kind == "net" || kind == "ipnet" || kind == "ip4net";
  return fits && find(element, name, &Entry::prefix, value);
}

bool AddressBook::find(std::string_view element, std::string_view text, EthernetAddress& value) const {
  const auto [name, kind] = split_kind(text);
  return (kind.empty() || kind == "eth" || kind == "ethernet") && find(element, name, &Entry::ethernet, value);
}

bool AddressBook::find(std::string_view element, std::string_view text, std::vector<Ipv4Address>& value) const {
  std::vector<Ipv4Address> addresses;
  for (const std::string_view word : split_words(text)) {
    Ipv4Address& address = addresses.emplace_back();
    if (!parse(word, address) && !find(element, word, address)) return false;
  }
  if (addresses.empty()) return false;
  value = std::move(addresses);
  return true;
}

}  // namespace heddle::click
