#pragma once

#include "elements/endpoints/from_dpdk_device.h"
#include "elements/endpoints/interface_requests.h"
#include "elements/endpoints/to_dpdk_device.h"

namespace heddle {

/** FromHost: receives what the kernel sends to an interface that is made for it.
 *
 *      FromHost(DEVNAME [, ADDRESS/MASK, GATEWAY, keywords ETHER, MTU, BURST, NDESC, HEADROOM])
 *
 *  Makes the tap interface DEVNAME and gives its kernel side ADDRESS/MASK, or that of a name of AddressInfo (default:
 *  none); it is up when the program
 *  has started, and gone when it ends. What the host sends there leaves by the output, as Ethernet frames, and what a
 *  ToHost of the same name gets the host receives. The kernel asks by ARP for the addresses of that network: an
 *  ARPResponder answers. GATEWAY: the host's default route goes there. ETHER: the interface's own Ethernet address.
 *  HEADROOM: as for FromDevice. The other keywords, handlers and statistics are those of FromDPDKDevice; `dev_name`
 *  (r). Needs root. Also called FromLinux, as in old configurations of Click.
 *
 *  Example, the host can reach 192.0.2.0/24 through this program:
 *
 *      h :: FromHost(tap0, 192.0.2.1/24) -> c :: Classifier(12/0806 20/0001, 12/0800); t :: ToHost(tap0);
 *      c[0] -> ARPResponder(192.0.2.0/24 02:00:00:00:00:01) -> t; c[1] -> Discard;
 */
class FromHost : public FromDPDKDevice {
 public:
  void configure(click::Arguments& arguments) override;
  void start(const Environment& environment) override;
  void handlers(Handlers& list) override;

 private:
  std::string interface_;
  InterfaceAddress address_;
  click::Ipv4Address gateway_;
};

/** ToHost: gives packets to the kernel, as if an interface had received them.
 *
 *      ToHost([DEVNAME, keywords BURST, NDESC, BLOCKING, MTU])
 *
 *  DEVNAME: the interface of a FromHost, or one that is made, default heddle0. Packets are Ethernet frames; push or
 *  pull input. Keywords, handlers, statistics and drop reasons are those of ToDPDKDevice. Needs root. In Click's kernel
 *  module packets come to the host by the interface that has received them, or the one that DEVNAME says; here by that
 *  of DEVNAME alone, and what a FromDevice receives with METHOD af_packet the host has received by itself. Also called
 *  ToLinux, as in old configurations of Click.
 *
 *  Example:
 *
 *      FromDevice(eth0, SNIFFER false, METHOD af_xdp) -> ToHost(tap0); FromHost(tap0, 10.0.0.2/24) -> ToDevice(eth0);
 */
class ToHost : public ToDPDKDevice {
 public:
  void configure(click::Arguments& arguments) override;
};

/** ToHostSniffers: shows packets to programs that listen at an interface (tcpdump).
 *
 *      ToHostSniffers([DEVNAME, keywords BURST, NDESC, BLOCKING, MTU])
 *
 *  DEVNAME: an interface, or its Ethernet address. If a FromDevice or ToDevice of the chain joins it with METHOD
 *  af_packet, programs there see by themselves what it receives and sends: packets end here. With af_xdp they would see
 *  nothing, which is an error. Else, and without DEVNAME, this is a ToHost, and the host itself sees packets that are
 *  addressed to that interface, too. Also called ToLinuxSniffers, as in old configurations of Click.
 *
 *  Example, `tcpdump -i tap0` shows what the chain drops:
 *
 *      FromDevice(eth0) -> c :: CheckIPHeader(14) -> ToDevice(eth1); c[1] -> ToHostSniffers(tap0);
 */
class ToHostSniffers : public ToHost {
 public:
  void configure(click::Arguments& arguments) override;
  void link(const Directory& directory) override;
  void run_cpu(Batch& batch) override;

 private:
  dpdk::Port* device_ = nullptr;
  bool are_seen_ = false;
};

}  // namespace heddle
