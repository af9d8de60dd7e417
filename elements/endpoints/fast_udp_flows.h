#pragma once

#include <random>

#include "elements/endpoints/flow_frames.h"

namespace heddle {

/** FastUDPFlows: makes UDP packets of many flows.
 *
 *      FastUDPFlows(RATE, LIMIT, LENGTH, SRCETH, SRCIP, DSTETH, DSTIP, FLOWS, FLOWSIZE
 *                   [, CHECKSUM, ACTIVE, keywords FLOWBURST, SEQUENTIAL, DURATION, STOP, END_CALL])
 *
 *  RATE: packets a second, 0: as fast as the chain takes them. LIMIT: packets in all; negative: no limit. LENGTH: of
 *  the Ethernet frame without its CRC, 60 to 9216 bytes. SRCETH, SRCIP, DSTETH, DSTIP: the addresses. FLOWS: how many
 *  flows there are at a time; each has a source and a destination port of its own, at random. FLOWSIZE: packets of a
 *  flow, after which it gets other ports; negative: for ever. CHECKSUM: whether the UDP checksum is set, default true.
 *  ACTIVE: whether it makes packets, default true. FLOWBURST: packets of one flow in a row, default 1. SEQUENTIAL: take
 *  the flows in turn instead of at random, default false. DURATION: seconds after which it ends; 0 or less (default):
 *  no limit. STOP, END_CALL: as for InfiniteSource.
 *
 *  No input, one output, push or pull. The annotations dst, l3 and l4 are set. Runs on the first packet
 *  thread, or where StaticThreadSched puts it.
 *
 *  Handlers: `count` (r), `reset` (w, count starts again, and LIMIT with it), `reset_counts` (w, count alone), `rate`
 *  (rw), `active` (rw), `stop` (w), `limit` (rw), `length` (r).
 *
 *  Example, 64 flows that never end:
 *
 *      FastUDPFlows(RATE 0, LIMIT 100000, LENGTH 60, SRCETH 02:00:00:00:00:01, SRCIP 10.0.0.1,
 *                   DSTETH 02:00:00:00:00:02, DSTIP 10.1.0.1, FLOWS 64, FLOWSIZE -1) -> ToDump(flows.pcap);
 */
class FastUDPFlows : public FlowFrames {
 public:
  FastUDPFlows() : FlowFrames(Kind::udp) {}
  void configure(click::Arguments& arguments) override;
  void start(const Environment& environment) override;
  void receive(Batch& batch) override;
  bool exhausted() const override { return Generator::exhausted() || over_; }

 private:
  struct Flow {
    Headers headers;      // of its packets
    int64_t packets = 0;  // since it has its ports
  };
  void renew(Flow& flow);
  Flow& next_flow();

  std::vector<Flow> flows_;
  size_t flow_ = 0;
  int burst_ = 1, burst_left_ = 0;
  int64_t flow_size_ = -1;
  bool sequential_ = false;
  double duration_s_ = 0;
  RouterClock::time_point ends_at_{};
  std::atomic<bool> over_{false};  // DURATION has passed
  std::mt19937 random_;
};

}  // namespace heddle
