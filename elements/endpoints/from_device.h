#pragma once

#include "elements/endpoints/from_dpdk_device.h"

namespace heddle {

/** FromDevice: receives packets from a kernel interface.
 *
 *      FromDevice(DEVNAME [, PROMISC, SNAPLEN, keywords METHOD, SNIFFER, PROMISC, OUTBOUND, PROTOCOL, FORCE_IP,
 *                 SNAPLEN, HEADROOM, ENCAP, BURST, NDESC, MTU, MAC, ACTIVE])
 *
 *  DEVNAME: the interface's name, such as eth0, or its Ethernet address. METHOD (or CAPTURE): how it is reached, all of
 *  them through DPDK: af_packet (default; also LINUX and PCAP, Click's names for packet sockets), af_xdp (faster; the
 *  kernel does not see what is received), tap (the interface is made, for this program and the kernel to talk over).
 *  FromDevice and ToDevice of the same name share the interface and its method. SNIFFER: whether the kernel receives
 *  the packets, too: true (default) with af_packet, false with af_xdp and tap, otherwise an error. PROMISC: receive
 *  frames for other addresses, too, default true (Click's default is false). OUTBOUND: receive the frames that the
 *  kernel itself sends to the interface, too, default false; true needs af_packet. PROTOCOL: receive frames of this
 *  EtherType alone, such as 0x0800, default 0: all; needs af_packet. FORCE_IP: give only IPv4 packets (VLAN tags are
 *  skipped), with their header and destination annotations set, default false; the others are counted (`not_ip`).
 *  SNAPLEN: longer packets are cut to it, default 65535. HEADROOM: bytes before the packet, up to the 128 that there
 *  always are. ENCAP: ETHER, as all are. BPF_FILTER and TIMESTAMP are errors that say what to do instead. The other
 *  keywords are those of FromDPDKDevice, as are handlers, statistics and what becomes of an interface that goes down or
 *  is removed. There are also the handlers `encap` (r, ETHER) and `kernel_drops` (r): frames that the kernel has
 *  dropped because the program did not take them fast enough, ?? with METHOD tap, where nobody counts them; with
 *  af_packet it is a statistic, too. Needs root. Also called PollDevice, which in Click's kernel module takes packets
 *  from the kernel: here that is METHOD af_xdp.
 *
 *  Interfaces with segmentation offload give packets that are longer than the wire takes, and without checksums: switch
 *  it off (ethtool -K eth0 gro off tso off gso off tx off).
 *
 *  Example:
 *
 *      FromDevice(eth0) -> Counter -> ToDevice(eth1);
 */
class FromDevice : public FromDPDKDevice {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  void receive(Batch& batch) override;
  void handlers(Handlers& list) override;
  std::string stop() override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  std::string kernel_drops() const;

  dpdk::Port* device_ = nullptr;
  bool force_ip_ = false;
  std::atomic<uint64_t> not_ip_{0}, kernel_drops_{0};  // the latter at the end
};

/** The name of the kernel interface that `text` means: itself, or the one that has this Ethernet address, which may be
 *  a name of AddressInfo. If none has, reports so, and returns "". */
std::string interface_of(const std::string& text, click::Arguments& arguments);

/** The keyword METHOD, or CAPTURE, as io/dpdk wants it: the driver's name, "" = not given. */
std::string device_method(click::Arguments& arguments);

}  // namespace heddle
