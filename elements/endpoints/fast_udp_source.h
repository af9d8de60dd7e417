#pragma once

#include "elements/endpoints/udp_frames.h"

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
class FastUDPSource : public UdpFrames {
 public:
  void configure(click::Arguments& arguments) override;
  void receive(Batch& batch) override;

 private:
  Ports ports_;
  uint64_t interval_ = 0;
  uint64_t step_ = 0;  // how much higher than these the ports of `headers_` are
  Headers headers_{};
};

}  // namespace heddle
