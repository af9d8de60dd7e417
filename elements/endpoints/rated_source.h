#pragma once

#include "elements/endpoints/generator.h"
#include "elements/endpoints/token_bucket.h"

namespace heddle {

/** RatedSource: makes packets at a steady rate.
 *
 *      RatedSource([DATA, RATE, LIMIT, ACTIVE, keywords DATA, RATE, BANDWIDTH, LIMIT, ACTIVE, LENGTH, STOP, END_CALL])
 *
 *  DATA: the packet's bytes, quoted or as \<hexadecimal>; default: 69 bytes of text. RATE: packets a second,
 *  default 10. BANDWIDTH: instead of RATE, with a unit: "10Mbps", "1.5 kBps" (bits or bytes; k, M, G are powers of
 *  1000; no unit means bytes a second). LIMIT: packets in all; negative (default): no limit. ACTIVE: whether it makes
 *  packets, default true. LENGTH (or DATASIZE): the packet's length in bytes, DATA being cut or repeated; -1 (default):
 *  as long as DATA. STOP, END_CALL: as for InfiniteSource.
 *
 *  No input, one output, push or pull. Runs on the first packet thread, or where StaticThreadSched puts it. What was
 *  not taken in time is made up for, but never more than 10 ms of the rate, or two packets, at once.
 *
 *  Handlers: `count` (r), `reset` (w, count starts again, and LIMIT with it), `reset_counts` (w, count alone), `rate`
 *  (rw), `active` (rw), `stop` (w), `limit` (rw), `data` (rw), `length` (rw).
 *
 *  Example:
 *
 *      RatedSource(RATE 100000, LENGTH 64) -> Queue -> ToDPDKDevice(0);
 */
class RatedSource : public RepeatedPacket {
 public:
  void configure(click::Arguments& arguments) override;
  void receive(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  TokenBucket bucket_;
};

}  // namespace heddle
