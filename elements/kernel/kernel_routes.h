#pragma once

#include <array>
#include <map>
#include <set>

#include "elements/kernel/follower.h"

namespace heddle {

class Attributes;

/** KernelRoutes: gives a routing element the kernel's IPv4 routes, and every change of them.
 *
 *      KernelRoutes(ELEMENT, DEVICE1 OUT1, DEVICE2 OUT2, ... [, keywords PUNT, TABLE])
 *
 *  ELEMENT: one with the handler `ctrl` (DirectIPLookup, RadixIPLookup, LinearIPLookup). DEVICE OUT: routes by the kernel's
 *  interface DEVICE, which need not exist yet, lead to output OUT of ELEMENT. PUNT: the output for addresses of the host
 *  itself, broadcast addresses, and routes that the chain cannot take (other interfaces, `blackhole`, `unreachable`,
 *  `prohibit`, gateways that are no IPv4 addresses): behind it the kernel should get the packets, which knows what to do with them
 *  (ToHost). Without PUNT there are no routes for these, and what matches a shorter prefix goes there. TABLE: number of the kernel's
 *  routing table, default 254 (main).
 *
 *  So whatever sets the kernel's routes steers this program: `ip route`, DHCP, BIRD, FRR. Of several routes for a prefix the one
 *  with the lowest metric counts; of several next hops of a route each prefix takes one, by a hash (packets of a flow always go
 *  one way). Routes of ELEMENT's own arguments give way to the kernel's for the same prefix. Routes that others add or remove by
 *  handlers are left alone until the kernel's change. Changes that come together are made together.
 *
 *  No ports. The program runs until it is stopped. Source: rtnetlink(7); nothing is set in the kernel, and no privilege is needed.
 *
 *  Handlers: `routes` (r) followed now; `punted` (r), of them to PUNT; `left_out` (r) for want of it; `failed` (r), refused by
 *  ELEMENT, which `last_failure` (r) tells; `readings` (r), how often all routes were read: once, and whenever the kernel may have
 *  changed some without saying so (an interface has gone down, too many changes at once).
 *
 *  Example, routes by two interfaces; what is for the host goes to it:
 *
 *      rt :: DirectIPLookup(0.0.0.0/32 2); KernelRoutes(rt, eth0 0, eth1 1, PUNT 2);
 *      FromDevice(eth0) -> Strip(14) -> CheckIPHeader -> rt; rt[0] -> Discard; rt[1] -> Discard;
 *      rt[2] -> EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2) -> ToHost(tap0);
 */
class KernelRoutes : public KernelFollower {
 public:
  KernelRoutes() : KernelRoutes(false) {}
  void configure(click::Arguments& arguments) override;
  void start(const Environment& environment) override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 protected:
  explicit KernelRoutes(bool ip6);
  bool take(const nlmsghdr& message) override;
  void begin_all() override { ++generation_; }
  void end_all() override;
  void tell() override;

 private:
  /** As it lies in packets; of IPv4 the first 4 bytes. */
  using Address = std::array<uint8_t, 16>;
  struct Prefix {
    Address address;
    uint8_t length;
    auto operator<=>(const Prefix&) const = default;
  };
  struct Hop {
    Address gateway{};  // 0: the destination is a neighbour
    int output = -1;    // -1: none
    bool operator==(const Hop&) const = default;
  };
  struct Route {
    Hop hop;
    bool punted;  // the chain cannot take it
    uint32_t generation;
    bool hides_others = false;  // of the same metric
  };
  using Key = std::pair<Prefix, uint32_t>;  // and metric

  bool take_route(const nlmsghdr& message);
  void put(const Key& key, const Route& route);
  void remove(std::map<Key, Route>::iterator route);
  /** The output for an interface; -1: none. */
  int output_of(int device);
  std::string text_of(const Address& address) const;
  std::string text_of(const Prefix& prefix) const;
  Address address_of(const Attributes& attributes, int type) const;
  std::string line_for(const Prefix& prefix, const Hop* hop) const;
  void tell(const std::vector<Prefix>& prefixes);
  const Hop* best(const Prefix& prefix) const;

  const bool ip6_;
  std::string element_, ctrl_;          // its handler
  std::map<std::string, int> outputs_;  // by interface
  int punt_ = -1;
  uint32_t table_ = 254;
  std::map<Key, Route> routes_;   // the kernel's
  std::map<Prefix, Hop> told_;    // what ELEMENT has
  std::set<Prefix> changed_;      // since it was told
  std::map<int, int> of_device_;  // output by interface number, as long as no interface changes
  uint32_t generation_ = 0;
  uint64_t punted_routes_ = 0;  // of routes_
  std::atomic<uint64_t> count_{0}, punted_{0}, left_out_{0}, failed_{0};
};

/** KernelIP6Routes: gives a LookupIP6Route the kernel's IPv6 routes, and every change of them.
 *
 *      KernelIP6Routes(ELEMENT, DEVICE1 OUT1, DEVICE2 OUT2, ... [, keywords PUNT, TABLE])
 *
 *  As KernelRoutes, with the kernel's routes for IPv6. Those for the host's own, anycast and multicast addresses lead to PUNT. A gateway
 *  is told to ELEMENT, which shows it, but cannot tell packets of it: one output a neighbour, as there.
 *
 *  Handlers: those of KernelRoutes.
 *
 *  Example:
 *
 *      rt :: LookupIP6Route(::/128 2); KernelIP6Routes(rt, eth0 0, eth1 1, PUNT 2);
 *      FromDevice(eth0) -> CheckIP6Header(OFFSET 14) -> rt; rt[0] -> Discard; rt[1] -> Discard; rt[2] -> ToHost(tap0);
 */
class KernelIP6Routes : public KernelRoutes {
 public:
  KernelIP6Routes() : KernelRoutes(true) {}
};

}  // namespace heddle
