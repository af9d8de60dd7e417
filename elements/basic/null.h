#pragma once

#include "core/element.h"

namespace heddle {

/** Null: lets packets pass.
 *
 *      Null
 *
 *  One input, one output; packets pass unchanged. It gives a place in a chain a name. Runs inside segments of either
 *  processor.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> here :: Null -> Discard;
 */
class Null : public NeutralElement {
 public:
  std::optional<NeutralOp> neutral() const override { return NeutralOp{NeutralOp::kMoveHead, 0}; }
  void run_cpu(Batch&) override {}
};

}  // namespace heddle
