#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "elements/kernel/follower.h"

struct rtmsg;

namespace heddle {

class Attributes;

/** KernelRoutes: gives a routing element the kernel's IPv4 routes, and every change of them.
 *
 *      KernelRoutes(ELEMENT, DEVICE1 OUT1, DEVICE2 OUT2, ... [, keywords PUNT, ECMP, ECMP_OUT, TABLE])
 *
 *  ELEMENT: one with the handler `ctrl` (DirectIPLookup, RadixIPLookup, LinearIPLookup). DEVICE OUT: routes by the
 *  kernel's interface DEVICE, which need not exist yet, lead to output OUT of ELEMENT. PUNT: the output for addresses
 *  of the host itself, broadcast addresses, and routes that the chain cannot take (other interfaces, `blackhole`,
 *  `unreachable`, `prohibit`, gateways that are no IPv4 addresses): behind it the kernel should get the packets, which
 *  knows what to do with them (ToHost). Without PUNT there are no routes for these, and what matches a shorter prefix
 *  goes there. TABLE: number of the kernel's routing table, default 254 (main).
 *
 *  So whatever sets the kernel's routes steers this program: `ip route`, DHCP, BIRD, FRR. Of several routes for a
 *  prefix the one with the lowest metric counts. A route with several next hops leads to output ECMP_OUT of ELEMENT, if
 *  given: behind it is the element ECMP, an ECMP, which divides flows among them, and whose outputs have the same
 *  numbers for interfaces as ELEMENT's. Its groups have numbers from 1 on, the least that have not been in use lately,
 *  and replace others of these numbers: groups of ECMP's own arguments are best numbered from 65535 down, and each
 *  KernelRoutes needs an ECMP of its own.
 *  Without ECMP each prefix takes one of its next hops, by a hash (packets of a flow always go one way). Routes of
 *  ELEMENT's own arguments give way to the kernel's for the same prefix. Routes that others add or remove by handlers
 *  are left alone until the kernel's change. Changes that come together are made together.
 *
 *  No ports. The program runs until it is stopped. Source: rtnetlink(7); nothing is set in the kernel, and no privilege
 *  is needed.
 *
 *  With routes that have several next hops:
 *
 *      rt :: DirectIPLookup(0.0.0.0/32 2); KernelRoutes(rt, eth0 0, eth1 1, PUNT 2, ECMP e, ECMP_OUT 3);
 *      FromDevice(eth0) -> Strip(14) -> CheckIPHeader -> rt; rt[0] -> out0 :: Discard; rt[1] -> out1 :: Discard;
 *      rt[2] -> Discard; rt[3] -> e :: ECMP; e[0] -> out0; e[1] -> out1;
 *
 *  Hot reconfiguration: where ELEMENT keeps its table (same arguments), routes that the KernelRoutes of this name told
 *  it stay until all have been read, and go then if it has none for their prefix any more, because their interface has
 *  been left out, for instance. Groups keep their numbers if ECMP is the same element, and go when all routes have been
 *  read and none leads to them.
 *
 *  Handlers: `routes` (r) followed now; `punted` (r), of them to PUNT; `left_out` (r) for want of it; `failed` (r),
 *  refused by ELEMENT, which `last_failure` (r) tells; `readings` (r), how often all routes were read: once, and
 *  whenever the kernel may have changed some without saying so (an interface has gone down, too many changes at once).
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
  std::string stop() override;
  void take_state(Element& old) override;
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
    uint32_t group = 0;         // of next hops; 0: there is one
  };
  /** Next hops among which flows are divided. */
  struct Group {
    uint32_t number;
    uint64_t routes = 0;
    bool told = false;
  };
  using Told = std::map<Prefix, Hop>;
  using Key = std::pair<Prefix, uint32_t>;  // and metric

  bool take_route(const nlmsghdr& message);
  /** The hop of a unicast route, and the group that it is. */
  Hop hop_of(const rtmsg& route, const Attributes& attributes, const Prefix& prefix, uint32_t& group);
  /** The number of the group of these, "GATEWAY OUT" each; 0 if there are no more. */
  uint32_t group_of(std::vector<std::string> hops);
  void leave_group(uint32_t number);
  /** Takes over the numbers of the predecessor's groups: routes that it told lead to them. */
  void take_groups(const KernelRoutes& old);
  void tell_groups();
  void forget_groups();
  /** Calls a write handler, but not while another configuration has taken over: waits until that is decided. False if
   *  it fails, or at the end. */
  bool call(const std::string& handler, const std::string& value, bool matters = true);
  /** Removes from ELEMENT what the predecessor told it and we have not. */
  void remove_left();
  /** Locks told_. Waits while another has it; false if this is the end. */
  bool have_told(std::unique_lock<std::mutex>& lock);
  bool ended() const;
  void put(const Key& key, const Route& route);
  void remove(std::map<Key, Route>::iterator route);
  /** The output for an interface; -1: none. */
  int output_of(int device);
  std::string text_of(const Address& address) const;
  std::string text_of(const Prefix& prefix) const;
  Address address_of(const Attributes& attributes, int type) const;
  std::string route_text(const Prefix& prefix, const Hop& hop) const;
  std::string line_for(const Prefix& prefix, const Hop* hop) const;
  void tell(const std::vector<Prefix>& prefixes);
  const Hop* best(const Prefix& prefix) const;

  const bool ip6_;
  std::string element_, ctrl_;          // its handler
  std::map<std::string, int> outputs_;  // by interface
  int punt_ = -1;
  uint32_t table_ = 254;
  std::map<Key, Route> routes_;  // the kernel's
  mutable std::mutex telling_;   // for told_, what follows it, and groups
  std::condition_variable comes_back_;
  bool handed_over_ = false;                               // a successor tells
  std::unique_ptr<Told> told_ = std::make_unique<Told>();  // what ELEMENT has; null while a successor has it
  std::unique_ptr<Told> left_;                             // what it has of the predecessor
  bool ended_ = false;                                     // or another goes on in its place after all
  std::string ecmp_, set_group_, remove_group_;            // the element, and its handlers
  int ecmp_output_ = -1;
  std::map<std::vector<std::string>, Group> groups_;
  std::map<uint32_t, std::vector<std::string>> hops_of_group_;
  std::deque<uint32_t> free_groups_;  // numbers, those that were in use last behind
  std::set<uint32_t> unused_groups_;
  uint32_t most_groups_ = 0;      // numbers given so far
  std::set<Prefix> changed_;      // since it was told
  std::map<int, int> of_device_;  // output by interface number, as long as no interface changes
  uint32_t generation_ = 0;
  uint64_t punted_routes_ = 0;  // of routes_
  std::atomic<uint64_t> count_{0}, punted_{0}, left_out_{0}, failed_{0};
};

/** KernelIP6Routes: gives a LookupIP6Route the kernel's IPv6 routes, and every change of them.
 *
 *      KernelIP6Routes(ELEMENT, DEVICE1 OUT1, DEVICE2 OUT2, ... [, keywords PUNT, ECMP, ECMP_OUT, TABLE])
 *
 *  As KernelRoutes, with the kernel's routes for IPv6. Those for the host's own, anycast and multicast addresses lead
 *  to PUNT. Packets leave ELEMENT with the annotation dst of their route's gateway, which IP6NDSolicitor asks for, and
 *  ECMP's groups are ::GROUP.
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
