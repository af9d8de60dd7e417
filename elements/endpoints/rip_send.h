#pragma once

#include <array>

#include "core/clock.h"
#include "elements/endpoints/generator.h"

namespace heddle {

/** RIPSend: advertises a route by RIP, again and again.
 *
 *      RIPSend(SRC, DST, WHAT/MASK, METRIC [, keywords LIMIT, ACTIVE, STOP, END_CALL])
 *
 *  After three seconds, and from then on every 30, it makes an IPv4 packet from SRC to DST with a RIP response (version
 *  2, UDP port 520) that says: WHAT/MASK can be reached by SRC, METRIC hops away (1 to 16; 16: not at all). TTL 200;
 *  both checksums are set. LIMIT: packets in all; negative (default): no limit. ACTIVE, STOP, END_CALL: as of
 *  InfiniteSource. This is but a small piece of RIP: it hears nothing, and answers nobody (RFC 2453).
 *
 *  No input, one output. The annotations dst, l3 and l4 are set. Runs on the first packet thread, or where
 *  StaticThreadSched puts it.
 *
 *  Handlers: `count` (r), `reset`, `reset_counts` (w), `active` (rw), `limit` (rw), `stop` (w).
 *
 *  Example, 18.26.4.24 knows how to get to net 10:
 *
 *      RIPSend(18.26.4.24, 18.26.4.255, 10.0.0.0/8, 10) -> EtherEncap(0x0800, 0:0:c0:ae:67:ef, ff:ff:ff:ff:ff:ff)
 *          -> ToDump(out.pcap);
 */
class RIPSend : public Generator {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  void receive(Batch& batch) override;

 private:
  static constexpr uint32_t kBytes = 20 + 8 + 4 + 20;  // IPv4, UDP, RIP with one route
  std::array<uint8_t, kBytes> packet_{};
  RouterClock::time_point next_{};
};

}  // namespace heddle
