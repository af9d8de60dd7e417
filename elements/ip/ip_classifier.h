#pragma once

#include "core/argument_handlers.h"
#include "elements/ip/ip_filter.h"

namespace heddle {

/** IPClassifier: sends IP packets to outputs by their contents, as patterns like tcpdump's say.
 *
 *      IPClassifier(PATTERN_0, PATTERN_1, ...)
 *
 *  A packet leaves by the output of the first pattern that it matches. One output a pattern. The network and transport
 *  headers must be marked, by CheckIPHeader or MarkIPHeader. Drops: "no_match" (no pattern matches), "short" (fewer
 *  than 20 bytes of an IPv4 header).
 *
 *  Patterns are made of directives. DIR is src, dst, "src or dst" (default) or "src and dst".
 *
 *      [DIR] host ADDRESS            a.b.c.d
 *      [DIR] net ADDRESS/LENGTH      or net ADDRESS mask MASK
 *      ether [DIR] [host] ADDRESS    0:1:2:3:4:5, 00-01-02-03-04-05
 *      [DIR] [tcp | udp] port PORT   number or name: www, http, https, ssh, domain, dns, ntp, ...; default: TCP or UDP
 *      ip proto PROTO                number or name: icmp, igmp, ipip, tcp, udp, gre, esp, ah, ospf, sctp, ...;
 *                                    tcpudp is either of two, transp any
 *      ip vers | hl | id | tos | dscp | ttl | len NUMBER
 *      ip ect [NUMBER]   ip ce       ECN capable transport (codepoint not 0), congestion experienced
 *      ip frag   ip unfrag           a fragment (also the first), no fragment
 *      tcp opt NAME                  syn, ack, fin, rst, psh, urg; or a number: all bits of it are set
 *      tcp win NUMBER
 *      icmp type TYPE                number or name: echo, echo-reply, unreachable, redirect, timeexceeded, ...
 *      icmp code NUMBER
 *      ip[POS:LEN] NUMBER            LEN (1 to 4, default 1) bytes from byte POS of the header; [FIRST,LAST] is the
 *                                    same
 *      transp[POS:LEN] NUMBER        the same of the transport header; tcp[...], udp[...], icmp[...] for one protocol
 *      true   false
 *
 *  Before the value may stand `& MASK`, and a relation ==, =, !=, <, >, <= or >= (addresses: == and != only, and no
 *  mask of Ethernet's; tcp opt none). Directives are combined by and (&&, or side by side), or (||), not (!),
 *  parentheses, and C ? A : B with spaces around ":"; "and" binds closer than "or". "-", "any" and "all" as the whole
 *  pattern match every packet.
 *
 *  Addresses and networks may be names that AddressInfo gives (host server, net LAN, src LAN:net, server:ip), ports
 *  those that PortInfo gives.
 *
 *  Much can be left out: "tcp" is "ip proto tcp", "www" is "port www", "syn" is "tcp opt syn", "10.0.0.0/8" is "net
 *  10.0.0.0/8"; and a directive without words before its value takes them from the one before: "src port 80 or 443".
 *
 *  Directives about the transport header match only unfragmented packets and first fragments, and none matches where
 *  one of its bytes lies behind the packet's end. So "tcp port != 80" is not "not tcp port 80", which other packets
 *  match, too. !=, < and <= are the opposites of ==, >= and > for the two of "src or dst" together: "port < 1024" means
 *  that both ports are.
 *
 *  The Ethernet header is what lies right before the network header, also if it has been stripped; where a packet never
 *  had one there are other bytes. "ether" directives match no packet that has no 14 bytes before IP's header.
 *
 *  Handlers: `program` (r): the tests into which the patterns were compiled, see IPFilter; `pattern0`, `pattern1`, ...
 *  (rw): the patterns; writing one reconfigures the chain, as writing `config` does.
 *
 *  Errors: a pattern that the language does not know, with the place of the word.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> c :: IPClassifier(dst tcp port 80 or 443, icmp type echo, -);
 *      c[0] -> ToDump(web.pcap); c[1] -> ToDump(pings.pcap); c[2] -> Discard;
 */
class IPClassifier : public IPFilter, public HasArgumentHandlers {
 public:
  void configure(click::Arguments& arguments) override;
  const char* argument_handlers() const override { return "pattern"; }
  const char* ports() const override { return ports_.c_str(); }
  std::span<const char* const> drop_reasons() const override { return IPFilter::drop_reasons().first(kDenied); }

 private:
  std::string ports_ = "1/1-";
};

}  // namespace heddle
