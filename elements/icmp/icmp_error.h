#pragma once

#include <vector>

#include "elements/icmp/reply_queue.h"

namespace heddle {

/** ICMPError: turns packets into ICMP error messages to their senders.
 *
 *      ICMPError(SRC, TYPE [, CODE, BADADDRS, keywords BADADDRS, MTU, PMTU, SET_FIX_ANNO, CAPACITY])
 *
 *  SRC: the message's source address. TYPE: unreachable, sourcequench, redirect, timeexceeded, parameterproblem, or a
 *  number. CODE: a number or its name (net, host, protocol, port, needfrag, transit, erroratptr ...), default 0.
 *  BADADDRS: addresses whose packets are not answered, such as broadcast addresses. MTU: most bytes of the message,
 *  default 576. PMTU: with unreachable, needfrag: the MTU of the next hop that the message tells (RFC 1191).
 *  SET_FIX_ANNO: whether annotation fix_ip_src is set for a FixIPSrc behind, default true. CAPACITY: messages that may
 *  wait, default 1024.
 *
 *  The packet's IPv4 header is marked by annotation l3. The message begins with its IPv4 header; the annotations dst
 *  (the sender), l3 and l4 say so. It enters the chain again on the thread that StaticThreadSched gives the element
 *  (else the first one), so its output may lead back to the routing table without a Queue. Where packets are pulled,
 *  their messages are what is pulled, and none waits. A redirect's gateway is the packet's destination
 *  annotation; the pointer of a parameterproblem comes from IPGWOptions (annotation icmp_param). A packet with a source
 *  route is answered by the way that it has recorded so far, reversed, in an option of the same kind; dst is then the
 *  first address of that way (RFC 1812, 4.3.2.6; not a parameterproblem about that option, nor where MTU leaves no room
 *  for it).
 *
 *  Not answered, as RFC 1122 (3.2.2) and RFC 1812 (4.3.2.7) want: ICMP errors ("icmp_error"), other fragments than the
 *  first ("fragment"), packets from or to broadcast, multicast and unspecified addresses, loopback and BADADDRS
 *  ("bad_address"), packets that came by link broadcast or multicast, if the source tells ("link_broadcast"), packets
 *  without a header at l3 ("no_header") or with less than 28 bytes of room before it ("no_headroom"); "full": CAPACITY
 *  wait.
 *
 *  Handlers: those of Queue.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> in :: Null -> d :: DecIPTTL -> Unstrip(14)
 *          -> ToDump(out.pcap);
 *      d[1] -> ICMPError(10.0.0.1, timeexceeded) -> in;
 */
class ICMPError : public ReplyQueue {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  Access access(Processor) const override;
  int prepends() const override { return 68; }
  std::span<const char* const> drop_reasons() const override;

 protected:
  int turn(Batch& batch, int i) override;

 private:
  enum Reason : int { kFull, kNoHeader, kIcmpError, kFragment, kBadAddress, kLinkBroadcast, kNoHeadroom, kSourceRoute };

  bool bad_address(uint32_t address) const;

  uint32_t source_ = 0;        // network byte order
  std::vector<uint32_t> bad_;  // network byte order
  int type_ = 0, code_ = 0;
  uint32_t mtu_ = 576, path_mtu_ = 0;
  bool set_fix_ = true;
  std::atomic<uint16_t> identification_{0};
};

}  // namespace heddle
