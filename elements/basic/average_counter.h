#pragma once

#include <array>

#include "core/element.h"
#include "elements/basic/rate.h"

namespace heddle {

/** AverageCounter: counts packets and measures their average rate.
 *
 *      AverageCounter([IGNORE, LINK_FCS, keyword MAX])
 *
 *  IGNORE: seconds after the first packet in which nothing is counted, default 0. LINK_FCS: whether `link_count` and
 *  `link_rate` add 24 bytes a packet (preamble, gap and checksum of Ethernet; default) or 20 (no checksum). MAX:
 *  seconds after the first packet when it stops counting; 0 (default): never. One input, one output; packets pass
 *  unchanged. Rates are averages over the time between the first and the last packet, less IGNORE, and at least 1 ms.
 *  Several threads may run it. Also called AverageCounterMP and AverageCounterIMP.
 *
 *  Handlers: `count` (r), `byte_count` (r), `bit_count` (r), `link_count` (r, bits on the wire), `rate` (r, packets/s),
 *  `byte_rate` (r), `bit_rate` (r), `link_rate` (r, bits/s), `time` and `average_time` (r, seconds that rates are
 *  averages of), `reset` (w).
 *
 *  Example:
 *
 *      FromDPDKDevice(0) -> c :: AverageCounter(IGNORE 1) -> Discard;
 */
class AverageCounter : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  struct alignas(64) LastSeen {
    std::atomic<uint64_t> ms{0};
    BatchClock clock;
  };
  uint64_t bits_on_wire() const { return 8 * (counts_.bytes() + counts_.packets() * (link_fcs_ ? 24 : 20)); }
  double seconds() const;

  uint64_t ignore_ms_ = 0, max_ms_ = 0;
  bool link_fcs_ = true;
  PerThreadCounts counts_{counts};
  std::atomic<uint64_t> first_ms_{0};  // 0: no packet yet
  std::array<LastSeen, kMaxThreads> last_;
};

}  // namespace heddle
