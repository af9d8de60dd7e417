#pragma once

#include "core/element.h"

namespace heddle {

/** DecIP6HLIM: decrements the hop limit of IPv6 packets.
 *
 *      DecIP6HLIM([keyword ACTIVE])
 *
 *  The header is the one that CheckIP6Header or MarkIP6Header has marked (annotation l3). ACTIVE: false lets packets
 *  pass unchanged, default true.
 *
 *  Output 0: the others. Output 1, if connected: packets whose hop limit is 1 or 0, unchanged; if not, they are dropped
 *  ("hop_limit_expired"). Packets without 40 bytes of header at l3 are dropped ("no_header"). RFC 8200, section 3.
 *
 *  Handlers: `drops` (r): packets that had expired; `active` (rw).
 *
 *  Example:
 *
 *      FromDPDKDevice(0) -> CheckIP6Header(OFFSET 14) -> d :: DecIP6HLIM -> ToDPDKDevice(1); d[1] -> Discard;
 */
class DecIP6HLIM : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  enum Reason : int { kExpired, kNoHeader };

  std::atomic<bool> active_{true};
  PerThreadCounts expired_{counts};
};

}  // namespace heddle
