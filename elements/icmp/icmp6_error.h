#pragma once

#include <atomic>

#include "elements/icmp/reply_queue.h"
#include "elements/ip6/addresses.h"

namespace heddle {

/** ICMP6Error: turns IPv6 packets into ICMPv6 error messages to their senders.
 *
 *      ICMP6Error(SRC, TYPE [, CODE, BADADDRS, keywords BADADDRS, MTU, PMTU, POINTER, RATE, BURST, CAPACITY])
 *
 *  As ICMPError, for IPv6. SRC: the message's source address. TYPE: unreachable, packettoobig, timeexceeded,
 *  parameterproblem, or their number, 1 to 4. CODE: a number or, of unreachable, noroute, prohibited, beyondscope,
 *  address, port, policy or reject, of timeexceeded, transit or reassembly, of parameterproblem, header, nextheader or
 *  option; default 0. BADADDRS: addresses whose packets are not answered. MTU: most bytes of the message, default 1280.
 *  PMTU: with packettoobig, the MTU of the next hop, default 1280, which is the least that a link may have. POINTER:
 *  with parameterproblem, the byte of the packet that is wrong, default 0. RATE: messages a second on average, default
 *  100, 0: any number; BURST: as many at once, default 10. CAPACITY: messages that may wait, default 1024.
 *
 *  The packet's IPv6 header is marked by annotation l3. The message begins with its IPv6 header; the annotations l3 and
 *  l4 say so, and dst is 0. It enters the chain again on the thread that StaticThreadSched gives the element (else the
 *  first one), so its output may lead back to the routing table without a Queue. Where packets are pulled, their
 *  messages are what is pulled, and none waits.
 *
 *  Not answered, as RFC 4443 (2.4) wants: ICMPv6 errors and redirects, and what has been cut so that it may be one
 *  ("icmp_error"); packets to multicast addresses or, if the source tells, that came by link broadcast or multicast
 *  ("multicast"; but packettoobig and parameterproblem, option are answered), from or to unspecified, loopback and
 *  BADADDRS, from multicast addresses ("bad_address"); more than RATE allows ("rate_limited"); packets without a header
 *  at l3 ("no_header") or with less than 48 bytes of room before it ("no_headroom"); "full": CAPACITY wait.
 *
 *  Handlers: those of Queue.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIP6Header -> in :: Null -> d :: DecIP6HLIM -> Unstrip(14)
 *          -> ToDump(out.pcap);
 *      d[1] -> ICMP6Error(2001:db8::fe, timeexceeded) -> in;
 */
class ICMP6Error : public ReplyQueue {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  int prepends() const override { return 48; }
  std::span<const char* const> drop_reasons() const override;

 protected:
  int turn(Batch& batch, int i) override;

 private:
  enum Reason : int { kFull, kNoHeader, kIcmpError, kMulticast, kBadAddress, kRateLimited, kNoHeadroom };

  bool bad_address(const uint8_t* address) const;
  bool to_multicast() const;
  /** Whether RATE allows a message now. */
  bool allowed();

  Ip6 source_{};
  Ip6Arguments bad_;
  int type_ = 0, code_ = 0;
  uint32_t mtu_ = 1280, path_mtu_ = 0, pointer_ = 0;
  int64_t interval_ns_ = 0, burst_ns_ = 0;  // of one message, of BURST - 1
  std::atomic<int64_t> spent_until_ns_{0};  // when the bucket is full again
};

}  // namespace heddle
