#pragma once

#include <array>
#include <map>

#include "elements/kernel/follower.h"

namespace heddle {

/** KernelNeighbours: gives an ARPQuerier the Ethernet addresses that the kernel knows.
 *
 *      KernelNeighbours(QUERIER, DEVICE)
 *
 *  QUERIER: the ARPQuerier before the interface. DEVICE: the kernel's interface, such as a FromHost's, whose neighbours
 *  (`ip neighbour`) are told to it: those that the kernel has found, and those that somebody has set. All of them are
 *  told anew once a minute, as an ARPQuerier forgets; one that the kernel gives up is removed there. What the kernel
 *  does not know the ARPQuerier asks for itself.
 *
 *  No ports. The program runs until it is stopped. Source: rtnetlink(7); no privilege is needed.
 *
 *  Handlers: `neighbours` (r) followed now; `readings` (r), how often all were read; `last_failure` (r).
 *
 *  Example:
 *
 *      FromHost(tap0, 192.0.2.1/24) -> Discard; KernelNeighbours(q, tap0);
 *      FromDump(a.pcap) -> CheckIPHeader -> q :: ARPQuerier(192.0.2.1, 2:0:0:0:0:1) -> ToDevice(eth0); Idle -> [1]q;
 */
class KernelNeighbours : public KernelFollower {
 public:
  KernelNeighbours() : KernelNeighbours(false) {}
  void configure(click::Arguments& arguments) override;
  void start(const Environment& environment) override;
  void handlers(Handlers& list) override;

 protected:
  explicit KernelNeighbours(bool ip6);
  bool take(const nlmsghdr& message) override;
  void begin_all() override;
  void end_all() override;
  void tell() override {}

 private:
  /** As it lies in packets; of IPv4 the first 4 bytes. */
  using Address = std::array<uint8_t, 16>;

  void forget(const Address& address);
  std::string text_of(const Address& address) const;

  const bool ip6_;

  std::string querier_, device_, insert_, delete_;
  std::map<Address, uint32_t> seen_;  // in which reading an address was there the last time
  uint32_t reading_ = 0;
  std::atomic<uint64_t> count_{0};
};

/** KernelIP6Neighbours: gives an IP6NDSolicitor the Ethernet addresses that the kernel knows.
 *
 *      KernelIP6Neighbours(QUERIER, DEVICE)
 *
 *  As KernelNeighbours, with the kernel's IPv6 neighbours. QUERIER: the IP6NDSolicitor before the interface.
 *
 *  Handlers: those of KernelNeighbours.
 *
 *  Example:
 *
 *      FromHost(tap0, 192.0.2.1/24) -> Discard; KernelIP6Neighbours(q, tap0);
 *      FromDump(a.pcap) -> CheckIP6Header -> LookupIP6Route(::/0 0) -> q :: IP6NDSolicitor(2001:db8::1, 2:0:0:0:0:1)
 *        -> ToDevice(eth0); Idle -> [1]q;
 */
class KernelIP6Neighbours : public KernelNeighbours {
 public:
  KernelIP6Neighbours() : KernelNeighbours(true) {}
};

}  // namespace heddle
