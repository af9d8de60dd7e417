#pragma once

#include <vector>

#include "click/address_book.h"
#include "core/element.h"

namespace heddle {

/** ARPResponder: answers ARP requests.
 *
 *      ARPResponder(IP/MASK ... ETH, ...)
 *
 *  Each argument has one or more IPv4 addresses or networks (10.0.0.0/8) and the Ethernet address that is theirs; a name of
 *  AddressInfo may stand for both. The longest prefix that covers the address asked for counts. Packets are Ethernet frames.
 *
 *  Output 0: replies; the request becomes the reply in place, 60 bytes or as long as it was. Output 1, if connected: all other
 *  packets, unchanged; if not, they are dropped: "not_arp_request", or "not_mine" if it asks for another address. RFC 826.
 *
 *  Handlers: `table` (r), `lookup` (r, an address).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Classifier(12/0806 20/0001) -> ARPResponder(10.0.0.1 2:0:0:0:0:1) -> ToDump(out.pcap);
 */
class ARPResponder : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  bool changes_length() const override { return true; }
  int appends() const override { return 18; }
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  struct Owned {
    click::Ipv4Prefix prefix;
    click::EthernetAddress ethernet;
  };
  void add(click::Arguments& arguments, const click::Argument& argument);
  const click::EthernetAddress* find(uint32_t address) const;

  std::vector<Owned> table_;  // longer prefixes first
};

}  // namespace heddle
