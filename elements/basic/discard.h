#pragma once

#include "core/element.h"

namespace heddle {

/** Discard: frees every packet.
 *
 *      Discard([keywords ACTIVE, BURST])
 *
 *  One input, push or pull, no output. ACTIVE: whether it pulls, default true; BURST: packets pulled at a time, default
 *  64 (Click: 1), 0: as many as a batch takes. Both mean nothing where packets are pushed. The final report shows how
 *  many came.
 *
 *  Handlers: `count`, `byte_count` (r), `reset_counts` (w), `active` (rw).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Queue -> Discard(BURST 8);
 */
class Discard : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/0"; }
  int demand(int thread) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  int burst_ = 64;
  std::atomic<bool> active_{true};
};

}  // namespace heddle
