#pragma once

#include "core/element.h"

namespace heddle {

/** AddressInfo: gives names to addresses.
 *
 *      AddressInfo(NAME ADDRESS [ADDRESS ...], ...)
 *
 *  No inputs, no outputs. Each argument gives a NAME to one or more of: an IPv4 address (10.0.0.1), an IPv4 prefix
 *  (10.0.0.0/8, 10/8), an Ethernet address (00-50-BA-85-84-A9 or 00:50:ba:85:84:a9). 10.0.0.1/8 is both an address and
 *  a prefix. Of two addresses of one kind for the same name, the last one counts.
 *
 *  The arguments of other elements may then have the name in place of such an address. What kind is meant follows from
 *  the argument; a suffix says it: NAME:ip or NAME:ip4 (the address), NAME:net, NAME:ipnet or NAME:ip4net (the prefix),
 *  NAME:eth or NAME:ethernet (the Ethernet address), NAME:bcast (the last address of the prefix), NAME:gw (its first
 *  one). A route to NAME alone is one to its address, if it has one. Names of an AddressInfo within a compound element
 *  hold there and in the compound elements within it.
 *
 *  A name that no AddressInfo explains may be that of a network device of the host, as it is when the chain is read: it
 *  has the device's first IPv4 address, its prefix and its Ethernet address; NAME:gw is then the gateway of the host's
 *  default route by this device, if there is one.
 *
 *  It is an error if an argument has no address or something that is none.
 *
 *  Example:
 *
 *      AddressInfo(server 10.0.0.1/24 00:50:BA:85:84:A9);
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> Discard;
 */
class AddressInfo : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "0/0"; }
  void run_cpu(Batch&) override {}
};

}  // namespace heddle
