#pragma once

#include "core/compound.h"

namespace heddle {

/** IPInputCombo: what an IPv4 router does with the frames that come in.
 *
 *      IPInputCombo(COLOR [, BADSRC, keywords of CheckIPHeader])
 *
 *  As Paint(COLOR), Strip(14) and CheckIPHeader(BADSRC, ...) one behind the other: takes Ethernet frames, gives IPv4
 *  packets with the annotations paint, dst, l3 and l4; others are dropped by the CheckIPHeader, by its reasons. BADSRC:
 *  source addresses that are not accepted, with spaces between; 0.0.0.0 and 255.255.255.255 are bad, too, then. One
 *  input, one output. Its parts are called `paint`, `strip` and `check`, with the handlers of their classes.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> IPInputCombo(1, INTERFACES 10.0.0.1/24) -> ToDump(out.pcap, ENCAP IP);
 */
class IPInputCombo : public Compound {
 public:
  static constexpr const char* kText = R"({
    $color, __REST__ $rest |
    input -> paint :: Paint($color) -> strip :: Strip(14) -> check :: CheckIPHeader($rest) -> output
  })";
};

/** IPOutputCombo: what an IPv4 router does with the packets that go out.
 *
 *      IPOutputCombo(COLOR, IPADDR, MTU)
 *
 *  As DropBroadcasts, PaintTee(COLOR), IPGWOptions(IPADDR), FixIPSrc(IPADDR), DecIPTTL and CheckLength(MTU) one behind
 *  the other. Packets have an IPv4 header at annotation l3. Push; five outputs: 0: packets to send; 1: copies of those
 *  whose paint is COLOR, whose senders get a redirect; 2: bad options; 3: TTL has run out; 4: longer than MTU bytes,
 *  for an IPFragmenter. Its parts are called `broadcasts`, `paint`, `options`, `source`, `ttl` and `length`, with the
 *  handlers of their classes.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> HostEtherFilter(2:0:0:0:0:1) -> IPInputCombo(1) -> o :: IPOutputCombo(2, 10.0.0.1, 1500)
 *          -> ToDump(out.pcap, ENCAP IP); o[1], o[2], o[3], o[4] => Discard, Discard, Discard, Discard;
 */
class IPOutputCombo : public Compound {
 public:
  static constexpr const char* kText = R"({
    $color, $ipaddr, $mtu |
    input -> broadcasts :: DropBroadcasts -> paint :: PaintTee($color) -> options :: IPGWOptions($ipaddr)
      -> source :: FixIPSrc($ipaddr) -> ttl :: DecIPTTL -> length :: CheckLength($mtu) -> output;
    paint[1] -> [1]output; options[1] -> [2]output; ttl[1] -> [3]output; length[1] -> [4]output
  })";
};

/** CheckIPHeader2: lets IPv4 headers pass without looking at their checksums, and marks them.
 *
 *      CheckIPHeader2([OFFSET, keywords of CheckIPHeader])
 *
 *  CheckIPHeader(OFFSET, CHECKSUM false, ...), for headers whose checksum is known to be right or about to be set. One
 *  input; output 0: valid packets, output 1, if connected: others. Its part is called `check`, with the handlers of its
 *  class.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader2(14) -> SetIPChecksum -> ToDump(out.pcap);
 */
class CheckIPHeader2 : public Compound {
 public:
  static constexpr const char* kText = R"({
    __REST__ $rest |
    input -> check :: CheckIPHeader(CHECKSUM false, $rest) -> output; check[1] -> [1]output
  })";
};

}  // namespace heddle
