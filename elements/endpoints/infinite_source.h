#pragma once

#include "elements/endpoints/bursts.h"

namespace heddle {

/** InfiniteSource: makes packets as fast as the chain takes them.
 *
 *      InfiniteSource([DATA, LIMIT, BURST, ACTIVE, keywords DATA, LIMIT, BURST, ACTIVE, LENGTH, TIMESTAMP, STOP,
 *                      END_CALL])
 *
 *  DATA: the packet's bytes, quoted or as \<hexadecimal>; default: 69 bytes of text. LIMIT: packets in all; negative
 *  (default): no limit. BURST: packets made at a time, default 1. ACTIVE: whether it makes packets, default true.
 *  LENGTH: the packet's length in bytes, DATA being cut or repeated; -1 (default): as long as DATA. DATASIZE is another
 *  name for LENGTH. TIMESTAMP: whether packets carry the time of their making, default true. STOP: whether the program
 *  ends when LIMIT is reached, default false (it ends then anyway unless other sources go on). END_CALL: a handler and
 *  a value, written when LIMIT is reached; STOP then waits for it.
 *
 *  No input, one output, push or pull. Runs on the first packet thread, or where StaticThreadSched puts it. When all
 *  packet buffers are in use it waits. As Click's, it also waits while all of the Queues are full that its packets are
 *  pushed into; of packets that are on a GPU meanwhile there may be too many.
 *
 *  Handlers: `count` (r), `reset` (w, count starts again, and LIMIT with it), `reset_counts` (w, count alone), `active`
 *  (rw), `stop` (w), `limit` (rw), `burst` (rw), `data` (rw), `length` (rw); `scheduled` is false also while it waits
 *  for a Queue and when it has made what it is to make.
 *
 *  Example:
 *
 *      InfiniteSource(DATA \<ffffffffffff 020000000001 0800>, LENGTH 60, LIMIT 1000) -> ToDump(out.pcap);
 */
class InfiniteSource : public Bursts<RepeatedPacket> {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }

 protected:
  void make(Batch& batch, int n) override { append_copies(batch, n, stamp_); }

 private:
  bool stamp_ = true;
};

}  // namespace heddle
