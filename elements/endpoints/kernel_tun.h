#pragma once

#include <functional>

#include "core/element.h"
#include "elements/endpoints/interface_requests.h"

namespace heddle {

/** KernelTun: exchanges IPv4 packets with the host through an interface that is made for it.
 *
 *      KernelTun(ADDRESS/MASK [, GATEWAY, keywords DEVNAME, MTU, HEADROOM, IGNORE_QUEUE_OVERFLOWS])
 *
 *  Makes a tun interface whose kernel side has ADDRESS/MASK, up when the program has started and gone when it ends.
 *  What the host sends there leaves by the output, as IPv4 packets without a link header (others are dropped and
 *  counted, `not_ip4`); packets that come in are the host's to receive. Nothing flows through. GATEWAY: the host's
 *  default route goes there. DEVNAME: the interface's name; default: the kernel's choice, tun0 and so on. MTU:
 *  default 1500. HEADROOM and IGNORE_QUEUE_OVERFLOWS are accepted for Click's sake: there are always 128 bytes, and
 *  overflows are counted instead of printed. Push input (may be left out), push output; runs on the first packet
 *  thread, or where StaticThreadSched puts it. What the kernel does not take is dropped: "refused". Needs root.
 *
 *  Handlers: `dev_name` (r), `received`, `sent` (r, packets).
 *
 *  Example, all of 192.0.2.0/24 answers pings:
 *
 *      t :: KernelTun(192.0.2.1/24) -> CheckIPHeader -> ICMPPingResponder -> t;
 */
class KernelTun : public Source {
 public:
  ~KernelTun() override { stop(); }
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "0-1/1"; }
  bool changes_length() const override { return true; }  // what leaves is not what came
  const char* processing() const override { return "h/h"; }
  bool leads(int, int) const override { return false; }  // packets that come end here
  Access access(Processor) const override { return {.reads = {kWholePacket}}; }
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  void receive(Batch& batch) override;
  bool exhausted() const override { return stopping_ && stopping_(); }
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 protected:
  /** Whether packets have Ethernet headers: a tap. */
  virtual bool ethernet() const { return false; }
  /** Of a frame beyond its payload: an Ethernet header, perhaps with a VLAN tag. */
  int link_bytes() const { return ethernet() ? 18 : 0; }
  click::EthernetAddress ether_;  ///< of the kernel's side; 0: the kernel's choice

 private:
  InterfaceAddress address_;
  click::Ipv4Address gateway_;
  std::string interface_;
  int mtu_ = 1500, tun_ = -1;
  PacketPool* packets_ = nullptr;
  std::function<bool()> stopping_;
  std::atomic<uint64_t> not_ip4_{0};
  PerThreadCounts received_{counts}, sent_{counts};
};

/** KernelTap: exchanges Ethernet frames with the host through an interface that is made for it.
 *
 *      KernelTap(ADDRESS/MASK [, GATEWAY, keywords ETHER, DEVNAME, MTU, HEADROOM, IGNORE_QUEUE_OVERFLOWS])
 *
 *  As KernelTun, but the interface is a tap: packets are Ethernet frames, of any protocol, both ways. The kernel asks
 *  by ARP for the addresses of its network, so an ARPResponder answers. ETHER: the Ethernet address of the kernel's
 *  side, to which packets must be addressed that the host is to receive; default: the kernel's choice (Click's has
 *  00:01:02:03:04:05). MTU: of the frames' payload, default 1500 (Click: 2048 with the header).
 *
 *  Handlers: those of KernelTun.
 *
 *  Example, all of 192.0.2.0/24 but 192.0.2.1 answers pings:
 *
 *      t :: KernelTap(192.0.2.1/24, ETHER 2:0:0:0:0:1) -> c :: Classifier(12/0806 20/0001, 12/0800);
 *      c[0] -> ARPResponder(0.0.0.0/0 2:0:0:0:0:2) -> t;
 *      c[1] -> Strip(14) -> CheckIPHeader -> ICMPPingResponder -> EtherEncap(0x0800, 2:0:0:0:0:2, 2:0:0:0:0:1) -> t;
 */
class KernelTap : public KernelTun {
 public:
  void configure(click::Arguments& arguments) override;

 protected:
  bool ethernet() const override { return true; }
};

}  // namespace heddle
