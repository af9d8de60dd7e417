#pragma once

#include "elements/io/from_dpdk_device.h"

namespace heddle {

/** FromDevice: receives packets from a kernel interface.
 *
 *      FromDevice(DEVNAME [, keywords METHOD, SNIFFER, PROMISC, SNAPLEN, BURST, NDESC, MTU, MAC, ACTIVE])
 *
 *  DEVNAME: the interface's name, such as eth0. METHOD: how it is reached, all of them through DPDK: af_packet (or LINUX,
 *  default), af_xdp (faster; the kernel does not see what is received), tap (the interface is made, for this program and
 *  the kernel to talk over). FromDevice and ToDevice of the same name share the interface and its method. SNIFFER: whether
 *  the kernel receives the packets, too: true (default) with af_packet, false with af_xdp and tap, otherwise an error.
 *  PROMISC: receive frames for other addresses, too, default true (Click's default is false). SNAPLEN: longer packets are
 *  cut to it, default 65535. The other keywords are those of FromDPDKDevice, as are handlers, statistics and what becomes
 *  of an interface that goes down or is removed. Needs root.
 *
 *  Interfaces with segmentation offload give packets that are longer than the wire takes, and without checksums: switch it
 *  off (ethtool -K eth0 gro off tso off gso off tx off).
 *
 *  Example:
 *
 *      FromDevice(eth0) -> Counter -> ToDevice(eth1);
 */
class FromDevice : public FromDPDKDevice {
 public:
  void configure(click::Arguments& arguments) override;
};

/** The keyword METHOD as io/dpdk wants it: the driver's name, "" = not given. */
std::string device_method(click::Arguments& arguments);

}  // namespace heddle
