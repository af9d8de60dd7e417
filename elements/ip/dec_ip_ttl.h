#pragma once

#include "core/element.h"

namespace heddle {

/** DecIPTTL: decrements the time to live of IPv4 packets.
 *
 *      DecIPTTL([keywords ACTIVE, MULTICAST])
 *
 *  The header is the one that CheckIPHeader or MarkIPHeader has marked (annotation l3). The checksum is updated with
 *  the TTL (RFC 1624). ACTIVE: false lets packets pass unchanged, default true. MULTICAST: false does so with packets
 *  to 224.0.0.0/4, default true.
 *
 *  Output 0: the others. Output 1, if connected: packets whose TTL is 1 or 0, unchanged; if not, they are dropped
 *  ("ttl_expired"). Packets without 20 bytes of header at l3 are dropped ("no_header"). RFC 1812, 5.3.1.
 *
 *  Handlers: `drops` (r): packets that had expired; `active` (rw).
 *
 *  Example:
 *
 *      FromDPDKDevice(0) -> CheckIPHeader(14) -> d :: DecIPTTL -> ToDPDKDevice(1); d[1] -> Discard;
 */
class DecIPTTL : public Element {
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
  bool multicast_ = true;
  PerThreadCounts expired_{counts};
};

}  // namespace heddle
