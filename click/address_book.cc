#include "click/address_book.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/if.h>

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <tuple>

#include "click/diagnostics.h"
#include "click/port_names.h"
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

/** Calls for each address of the kernel's interface `name`, until it returns true; whether it has. */
template <class Take>
bool ask_interface(std::string_view name, int family, const Take& take) {
  const std::string text(name);
  if (name.size() >= IFNAMSIZ || if_nametoindex(text.c_str()) == 0) return false;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return false;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, freeifaddrs);
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next)
    if (one->ifa_addr != nullptr && one->ifa_addr->sa_family == family && text == one->ifa_name && take(*one))
      return true;
  return false;
}

uint32_t address_of(const sockaddr* socket) {
  sockaddr_in address{};
  std::memcpy(&address, socket, sizeof address);
  return ntohl(address.sin_addr.s_addr);
}

bool of_interface(std::string_view name, Ipv4Address& value) {
  return ask_interface(name, AF_INET, [&](const ifaddrs& one) { return value.value = address_of(one.ifa_addr), true; });
}

bool of_interface(std::string_view name, Ipv4Prefix& value) {
  return ask_interface(name, AF_INET, [&](const ifaddrs& one) {
    if (one.ifa_netmask == nullptr) return false;
    const uint32_t mask = address_of(one.ifa_netmask);
    value.address = address_of(one.ifa_addr) & mask, value.length = static_cast<uint8_t>(std::countl_one(mask));
    return true;
  });
}

bool of_interface(std::string_view name, EthernetAddress& value) {
  return ask_interface(name, AF_PACKET, [&](const ifaddrs& one) {
    sockaddr_ll address{};
    std::memcpy(&address, one.ifa_addr, sizeof address);
    if (address.sll_halen != value.bytes.size()) return false;
    std::copy_n(address.sll_addr, value.bytes.size(), value.bytes.begin());
    return true;
  });
}

/** The gateway of the host's default route through an interface. */
bool gateway_of_interface(std::string_view name, Ipv4Address& value) {
  const std::unique_ptr<FILE, int (*)(FILE*)> routes(std::fopen("/proc/net/route", "re"), std::fclose);
  char line[256], interface[IFNAMSIZ];
  uint32_t destination = 0, gateway = 0;
  while (routes && std::fgets(line, sizeof line, routes.get()) != nullptr) {
    if (std::sscanf(line, "%15s %" SCNx32 " %" SCNx32, interface, &destination, &gateway) != 3) continue;  // its header
    if (name != interface || destination != 0 || gateway == 0) continue;
    value.value = ntohl(gateway);
    return true;
  }
  return false;
}

}  // namespace

AddressBook::AddressBook(const Graph& graph) {
  for (const ElementDeclaration& element : graph.elements) {
    const bool of_addresses = element.class_name == "AddressInfo";
    if (!of_addresses && element.class_name != "PortInfo") continue;
    for (const Argument& argument : element.arguments)
      of_addresses ? add(element.name, argument.text) : add_port(element.name, argument.text);
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

std::string AddressBook::add_port(std::string_view element, std::string_view argument) {
  const std::string_view line = argument.substr(0, argument.find('#'));  // a comment behind it, as in /etc/services
  std::vector<std::string_view> words = split_words(line);
  if (words.empty()) return "";
  if (words.size() == 1)
    return in_quotes(trim(line)) + " is not a name and its port, such as 'http 80' or 'dns 53/udp'";
  const size_t slash = words[1].find('/');
  const std::string_view protocol = slash == words[1].npos ? "" : words[1].substr(slash + 1);
  uint16_t port = 0;
  if (!parse(words[1].substr(0, slash), port) || (slash != words[1].npos && protocol != "tcp" && protocol != "udp"))
    return in_quotes(words[0]) + ": " + in_quotes(words[1]) + " is not a port such as 80, 80/tcp or 53/udp";
  words.erase(words.begin() + 1);
  for (const std::string_view name : words) {
    Entry& entry = entries_[std::string(around(element)) + std::string(name)];
    if (protocol != "udp") entry.tcp = port;
    if (protocol != "tcp") entry.udp = port;
  }
  return "";
}

template <class T>
std::optional<T> AddressBook::declared(std::string_view element, std::string_view name,
                                       std::optional<T> Entry::*kind) const {
  std::string_view scope = element;
  do {
    scope = around(scope);
    const auto found = entries_.find(std::string(scope) + std::string(name));
    if (found != entries_.end() && found->second.*kind) return found->second.*kind;
  } while (!scope.empty());
  return std::nullopt;
}

template <class T>
bool AddressBook::find(std::string_view element, std::string_view name, std::optional<T> Entry::*kind, T& value) const {
  const std::optional<T> said = declared(element, name, kind);
  if (said) value = *said;
  return said || of_interface(name, value);  // as in Click: a device's name is that of its addresses
}

bool AddressBook::find(std::string_view element, std::string_view text, Ipv4Address& value) const {
  const auto [name, kind] = split_kind(text);
  if (kind.empty() || kind == "ip" || kind == "ip4") return find(element, name, &Entry::address, value);
  Ipv4Prefix prefix;
  if (kind == "gw" && gateway_of_interface(name, value)) return true;
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

bool AddressBook::find_port(std::string_view element, std::string_view name, Port& value, bool ask_host) const {
  // What knows the name first counts, whichever protocols it knows it for.
  const auto take = [&](const auto& port_at) {
    const std::optional<uint16_t> tcp = value.protocol == Port::kUdp ? std::nullopt : port_at(false);
    const std::optional<uint16_t> udp = value.protocol == Port::kTcp ? std::nullopt : port_at(true);
    const bool same = !tcp || !udp || *tcp == *udp;
    if (same && (tcp || udp)) value.number = tcp ? *tcp : *udp;
    return std::pair(tcp || udp, same);
  };
  auto [known, same] = take([&](bool udp) { return declared(element, name, udp ? &Entry::udp : &Entry::tcp); });
  if (!known) std::tie(known, same) = take([&](bool udp) { return well_known_port(name, udp); });
  if (!known && ask_host) std::tie(known, same) = take([&](bool udp) { return port_of_host(name, udp); });
  return known && same;
}

bool AddressBook::find(std::string_view element, std::string_view text, Port& value) const {
  return find_port(element, text, value, true);
}

bool AddressBook::find_known(std::string_view element, std::string_view text, Port& value) const {
  return find_port(element, text, value, false);
}

}  // namespace heddle::click
