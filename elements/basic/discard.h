#pragma once

#include "core/element.h"

namespace heddle {

/** Discard: frees every packet.
 *
 *      Discard
 *
 *  One input, no output. The final report shows how many came.
 */
class Discard : public Element {
 public:
  const char* ports() const override { return "1/0"; }
  void run_cpu(Batch& batch) override { batch.free_packets(); }
};

}  // namespace heddle
