#pragma once

#include <net/if.h>

#include <string>
#include <string_view>

#include "click/arguments.h"
#include "click/values.h"

namespace heddle {

/** An IPv4 address and the network that it is in, an argument type: 10.0.0.1/24. */
struct InterfaceAddress {
  click::Ipv4Address address;
  int length = -1;  ///< of the prefix, bits; negative: none

  uint32_t mask() const { return length <= 0 ? 0 : ~uint32_t{0} << (32 - length); }
  bool contains(click::Ipv4Address other) const { return length >= 0 && ((other.value ^ address.value) & mask()) == 0; }
};
bool parse(std::string_view text, InterfaceAddress& value);
std::string expectation(InterfaceAddress);
/** The same, or a name of AddressInfo that has an address and a network; false if it is neither. */
bool read_address(const click::Arguments& arguments, std::string_view text, InterfaceAddress& value);

/** Asks the kernel to change one of its interfaces; what it refuses is thrown as Error, with its reason. */
class InterfaceRequests {
 public:
  explicit InterfaceRequests(std::string interface);
  ~InterfaceRequests();
  InterfaceRequests(const InterfaceRequests&) = delete;
  InterfaceRequests& operator=(const InterfaceRequests&) = delete;

  void set_address(const InterfaceAddress& to);
  void set_ethernet_address(const click::EthernetAddress& to);
  void set_mtu(int mtu);
  void bring_up();
  void add_default_route(click::Ipv4Address gateway);

 private:
  ifreq named() const;
  void ask(unsigned long what, void* request, const char* thing) const;

  std::string interface_;
  int socket_;
};

}  // namespace heddle
