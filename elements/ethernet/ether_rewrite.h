#pragma once

#include "core/element.h"
#include "elements/ethernet/atomic_address.h"

namespace heddle {

/** EtherRewrite: gives Ethernet frames new addresses.
 *
 *      EtherRewrite(SRC, DST)
 *
 *  SRC and DST: Ethernet addresses, written over those at the start of the packet; the type stays. One input, one
 *  output. Drops packets shorter than the two addresses ("short"). (FastClick.)
 *
 *  Handlers: `src` (rw), `dst` (rw).
 *
 *  Example:
 *
 *      FromDPDKDevice(0) -> EtherRewrite(0:1:2:3:4:5, 6:7:8:9:a:b) -> ToDPDKDevice(1);
 */
class EtherRewrite : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  Access access(Processor) const override { return {.writes = {kEthDst, kEthSrc}}; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  AtomicEthernetAddress src_, dst_;
};

}  // namespace heddle
