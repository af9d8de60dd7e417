#pragma once

#include "elements/endpoints/flow_frames.h"

namespace heddle {

/** FastUDPSource: makes UDP packets of one flow.
 *
 *      FastUDPSource(RATE, LIMIT, LENGTH, SRCETH, SRCIP, SPORT, DSTETH, DSTIP, DPORT
 *                    [, CHECKSUM, INTERVAL, ACTIVE, keywords STOP, END_CALL])
 *
 *  RATE: packets a second, 0: as fast as the chain takes them. LIMIT: packets in all; negative: no limit. LENGTH: of
 *  the Ethernet frame without its CRC, 60 to 9216 bytes; behind the headers they are zero. SRCETH, SRCIP, SPORT,
 *  DSTETH, DSTIP, DPORT: addresses and ports. CHECKSUM: whether the UDP checksum is set, default true. INTERVAL: after
 *  so many packets both ports are one higher; 0 (default): never. ACTIVE: whether it makes packets, default true. STOP,
 *  END_CALL: as for InfiniteSource.
 *
 *  No input, one output, push or pull. The annotations dst, l3 and l4 are set. Runs on the first packet thread, or
 *  where StaticThreadSched puts it.
 *
 *  Handlers: `count` (r), `reset` (w, count starts again, and LIMIT and the ports with it), `reset_counts` (w, count
 *  alone), `rate` (rw), `active` (rw), `stop` (w), `limit` (rw), `length` (r).
 *
 *  Example:
 *
 *      FastUDPSource(100000, 500000, 60, 2:0:0:0:0:1, 10.0.0.1, 1234, 2:0:0:0:0:2, 10.1.0.1, 1234) -> ToDump(out.pcap);
 */
class FastUDPSource : public FlowFrames {
 public:
  FastUDPSource() : FastUDPSource(Kind::udp) {}
  void configure(click::Arguments& arguments) override;
  void receive(Batch& batch) override;

 protected:
  explicit FastUDPSource(Kind kind) : FlowFrames(kind) {}

 private:
  Ports ports_;
  uint64_t interval_ = 0;
  uint64_t step_ = 0;  // how much higher than these the ports of `headers_` are
  Headers headers_{};
};

/** FastUDPSourceIP6: makes UDP packets of one flow, over IPv6.
 *
 *      FastUDPSourceIP6(RATE, LIMIT, LENGTH, SRCETH, SRCIP6, SPORT, DSTETH, DSTIP6, DPORT
 *                       [, CHECKSUM, INTERVAL, ACTIVE, keywords STOP, END_CALL])
 *
 *  As FastUDPSource, with IPv6 addresses SRCIP6 and DSTIP6; LENGTH is 62 to 9216 bytes. CHECKSUM false makes packets
 *  that IPv6 nodes discard (RFC 8200, 8.1). The annotations l3, l4 and dst, the number of DSTIP6 as LookupIP6Route
 *  numbers gateways, are set.
 *
 *  Handlers: those of FastUDPSource.
 *
 *  Example:
 *
 *      FastUDPSourceIP6(100000, 500000, 64, 2:0:0:0:0:1, 2001:db8::1, 1234, 2:0:0:0:0:2, 2001:db8:1::1, 1234)
 *          -> ToDump(out.pcap);
 */
class FastUDPSourceIP6 : public FastUDPSource {
 public:
  FastUDPSourceIP6() : FastUDPSource(Kind::udp6) {}
};

}  // namespace heddle
