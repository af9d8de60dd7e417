#pragma once

#include "core/element.h"

namespace heddle {

/** Idle: never gives a packet, and frees those that it gets.
 *
 *      Idle
 *
 *  Any number of inputs and outputs. It fills ports that must be connected.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> s :: Switch(0) -> ToDump(out.pcap); s[1] -> Idle;
 */
class Idle : public Source {
 public:
  const char* ports() const override { return "-/-"; }
  const char* processing() const override { return "x/x"; }
  /** It gives no packet that lacks an annotation. */
  Access access(Processor) const override { return {.column_writes = kAllColumns}; }
  void run_cpu(Batch& batch) override { batch.free_packets(); }
  void receive(Batch&) override {}
  bool exhausted() const override { return true; }
};

}  // namespace heddle
