#pragma once

#include <random>
#include <vector>

#include "elements/endpoints/flow_frames.h"

namespace heddle {

/** FastTCPFlows: makes TCP packets of many flows.
 *
 *      FastTCPFlows(RATE, LIMIT, LENGTH, SRCETH, SRCIP, DSTETH, DSTIP, FLOWS, FLOWSIZE
 *                   [, ACTIVE, keywords STOP, END_CALL])
 *
 *  RATE, LIMIT, LENGTH, SRCETH, SRCIP, DSTETH, DSTIP, ACTIVE, STOP, END_CALL: as of FastUDPFlows. FLOWS: how many flows
 *  there are at a time, whose turn it is at random; each has a source and a destination port of its own, at random.
 *  FLOWSIZE: packets of a flow, at least 3, after which it gets other ports: the first is a SYN, the last a FIN, those
 *  between have data (PSH, ACK). Checksums are right; sequence numbers are all 0. When LIMIT is reached flows stay
 *  without their FIN.
 *
 *  No input, one output, push or pull. The annotations dst, l3 and l4 are set. Runs on the first packet thread, or
 *  where StaticThreadSched puts it.
 *
 *  Handlers: those of FastUDPFlows.
 *
 *  Example:
 *
 *      FastTCPFlows(100000, 500000, 60, 2:0:0:0:0:1, 10.0.0.1, 2:0:0:0:0:2, 10.1.0.1, 100, 10) -> ToDump(flows.pcap);
 */
class FastTCPFlows : public FlowFrames {
 public:
  FastTCPFlows() : FlowFrames(Kind::tcp) {}
  void configure(click::Arguments& arguments) override;
  void start(const Environment& environment) override;
  void receive(Batch& batch) override;

 private:
  struct Flow {
    Ports ports;
    Headers data;          // of the packets between the first and the last
    uint32_t packets = 0;  // since it has its ports
  };
  /** The headers of the next packet. */
  Headers next();

  std::vector<Flow> flows_;
  uint32_t flow_size_ = 3;
  std::mt19937 random_;
};

}  // namespace heddle
