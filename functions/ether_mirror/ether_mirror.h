#pragma once

#include "core/element.h"

namespace heddle {

/** EtherMirror: swaps the Ethernet source and destination address, so that frames go back to where they came from.
 *
 *      EtherMirror([keywords DEVICE, BLOCKING])
 *
 *  DEVICE: cpu or gpu; default: what --device says. BLOCKING: on a GPU with all slots in flight, wait (true, default)
 *  or drop ("no_slot"). Drops frames shorter than 12 bytes ("short"). Reads and writes bytes 0 to 11. IEEE 802.3, 3.2.
 *
 *  Example:
 *
 *      FromDPDKDevice(0) -> EtherMirror -> ToDPDKDevice(0);
 */
class EtherMirror : public Element {
 public:
  Access access(Processor) const override { return {.reads = {kEthDst, kEthSrc}, .writes = {kEthDst, kEthSrc}}; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
};

}  // namespace heddle
