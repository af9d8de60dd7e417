#pragma once

#include <vector>

#include "click/arguments.h"
#include "core/element.h"
#include "elements/ip6/gateways.h"

namespace heddle {

/** IP6NDAdvertiser: answers neighbour solicitations.
 *
 *      IP6NDAdvertiser(IP6/LENGTH ... ETH, ...)
 *
 *  Each argument has one or more IPv6 addresses or networks (2001:db8:1::/64, or with a mask behind the address,
 *  2001:db8:1:: ffff:ffff:ffff:ffff::) and the Ethernet address that is theirs.
 *  The longest prefix that covers the address asked for counts. Packets are Ethernet frames.
 *
 *  Output 0: advertisements, which say that a router answers; the solicitation becomes one in place, 86 bytes. Output
 *  1, if connected: all other packets, unchanged; if not, they are dropped: "not_solicitation" (also one that has not
 *  come from the link, or is wrong otherwise: RFC 4861, 7.1.1), or "not_mine" if it asks for another address. RFC 4861,
 *  7.2.4. Also called NDAdv and ARPResponder6, as in old configurations of Click.
 *
 *  Handlers: `table` (r), `lookup` (r, an address).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Classifier(12/86dd 20/3aff 54/87) -> IP6NDAdvertiser(2001:db8::1 2:0:0:0:0:1)
 *          -> ToDump(out.pcap);
 */
class IP6NDAdvertiser : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  bool changes_length() const override { return true; }
  int appends() const override { return 8; }  // the option with our Ethernet address
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  enum Reason : int { kNotSolicitation, kNotMine };

  struct Owned {
    Ip6 address;
    uint32_t length;
    click::EthernetAddress ethernet;
    bool covers(const Ip6& other) const;
  };
  void add(click::Arguments& arguments, const click::Argument& argument);
  const click::EthernetAddress* find(const Ip6& address) const;

  std::vector<Owned> table_;  // longer prefixes first
};

}  // namespace heddle
