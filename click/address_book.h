#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "click/graph.h"
#include "click/values.h"

namespace heddle::click {

/** The names that AddressInfo elements give to addresses, and PortInfo elements to ports. An address argument may be
 *  such a name wherever it may be an address: NAME, or with its kind NAME:ip, NAME:ip4, NAME:bcast and NAME:gw (an
 *  address), NAME:net, NAME:ipnet and NAME:ip4net (a prefix), NAME:eth and NAME:ethernet. An element in a compound
 *  element sees the names of all AddressInfo elements in it and around it, the innermost first; an element `a/b` those
 *  of `a/AddressInfo@1`. A port argument may likewise be a name of PortInfo, or else of a service that Heddle or the
 *  host knows. */
class AddressBook {
 public:
  AddressBook() = default;
  /** From the arguments of the AddressInfo and PortInfo elements of the graph; mistakes in them are left to the
   *  elements. */
  explicit AddressBook(const Graph& graph);

  /** Takes an argument `NAME ADDRESS...` of the AddressInfo called `element`; of an address given again, the last one
   *  counts. Returns what is wrong with it, "" = nothing. */
  std::string add(std::string_view element, std::string_view argument);
  /** Takes an argument `NAME PORT[/PROTOCOL] [NAME ...]` of the PortInfo called `element`, a line of /etc/services. The
   *  same otherwise. */
  std::string add_port(std::string_view element, std::string_view argument);

  // What `text` means as an argument of `element`: a name or, in lists, names and addresses. False, and `value` as it
  // was, if it has no such address.
  bool find(std::string_view element, std::string_view text, Ipv4Address& value) const;
  bool find(std::string_view element, std::string_view text, Ipv4Prefix& value) const;
  bool find(std::string_view element, std::string_view text, EthernetAddress& value) const;
  bool find(std::string_view element, std::string_view text, std::vector<Ipv4Address>& value) const;
  // Of a port at TCP or UDP the number must be the same at both, if both have the name.
  bool find(std::string_view element, std::string_view text, Port& value) const;
  /** The same without what only this host knows. */
  bool find_known(std::string_view element, std::string_view text, Port& value) const;

 private:
  struct Entry {
    std::optional<Ipv4Address> address;
    std::optional<Ipv4Prefix> prefix;
    std::optional<EthernetAddress> ethernet;
    std::optional<uint16_t> tcp, udp;  // ports
  };

  /** What the elements say. */
  template <class T>
  std::optional<T> declared(std::string_view element, std::string_view name, std::optional<T> Entry::*kind) const;
  /** That, or what the host's device of this name has. */
  template <class T>
  bool find(std::string_view element, std::string_view name, std::optional<T> Entry::*kind, T& value) const;
  bool find_port(std::string_view element, std::string_view name, Port& value, bool ask_host) const;

  std::map<std::string, Entry, std::less<>> entries_;  // by "compound/NAME"
};

/** The names that one element sees: for what is read later than arguments are, by handlers for example. */
struct AddressNames {
  AddressBook book;
  std::string element;

  template <class T>
  bool find(std::string_view text, T& value) const {
    return book.find(element, text, value);
  }
};

}  // namespace heddle::click
