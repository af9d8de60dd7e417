#pragma once

#include <random>

#include "elements/endpoints/bursts.h"

namespace heddle {

/** RandomSource: makes packets of random bytes.
 *
 *      RandomSource(LENGTH [, LIMIT, BURST, ACTIVE, keywords LIMIT, BURST, ACTIVE, STOP, END_CALL])
 *
 *  LENGTH: bytes of a packet, up to 65407. LIMIT: packets in all; negative (default): no limit. BURST: packets made at
 *  a time, default 1. ACTIVE: whether it makes packets, default true. STOP, END_CALL: as for InfiniteSource. Packets
 *  have the time of their making.
 *
 *  No input, one output, push or pull. Runs on the first packet thread, or where StaticThreadSched puts it. As
 *  InfiniteSource it waits while no packet buffer is free, and while all of the Queues are full that its packets are
 *  pushed into.
 *
 *  Handlers: those of InfiniteSource but `data`.
 *
 *  Example:
 *
 *      RandomSource(64, LIMIT 1000) -> ForceIP -> EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2) -> ToDump(out.pcap);
 */
class RandomSource : public Bursts<Generator> {
 public:
  void configure(click::Arguments& arguments) override;
  void start(const Environment& environment) override;
  void handlers(Handlers& list) override;

 protected:
  void make(Batch& batch, int n) override;

 private:
  std::atomic<uint32_t> bytes_{0};
  std::mt19937_64 random_;  // of the thread that runs it
};

}  // namespace heddle
