#pragma once

#include "core/compound.h"

namespace heddle {

/** UDPGen: makes UDP packets of one flow.
 *
 *      UDPGen(SRCIP, SPORT, DSTIP, DPORT [, keywords of RatedSource])
 *
 *  IPv4 packets with a UDP header and a payload, as RatedSource and UDPIPEncap make them: DATA or LENGTH is the
 *  payload, of 69 bytes of text if neither is given; RATE, BANDWIDTH (of payloads), LIMIT, ACTIVE, STOP and END_CALL
 *  are those of RatedSource. No input, one push output; annotations dst, l3 and l4 are set. Its parts are called
 *  `source` and `encap`, with the handlers of their classes. For many flows there is FastUDPFlows.
 *
 *  Example:
 *
 *      UDPGen(10.0.0.1, 1234, 10.0.0.2, 9, RATE 1000, LENGTH 22, LIMIT 100)
 *        -> EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2) -> ToDump(out.pcap);
 */
class UDPGen : public Compound {
 public:
  static constexpr const char* kText = R"({
    $src, $sport, $dst, $dport, __REST__ $rest |
    source :: RatedSource($rest) -> encap :: UDPIPEncap($src, $sport, $dst, $dport) -> output
  })";
};

}  // namespace heddle
