#pragma once

#include <cstdint>

#include "core/macros.h"

namespace heddle {

/** What a neutral element does to a packet: it moves the start, sets a column or counts, and so runs inside a segment
 * of either processor without cutting it (design: neutral elements). One description, applied by the CPU and the GPU.
 */
struct NeutralOp {
  enum Kind : uint16_t { kMoveHead, kLoadDst, kPaint, kCount };
  Kind kind;
  int32_t amount;  ///< kMoveHead: bytes (> 0 strips); kLoadDst: byte offset of the address; kPaint: colour
};

/** Bytes that a packet must have for `op`; a shorter one is dropped as "short". */
HEDDLE_HD inline uint32_t bytes_needed(NeutralOp op) {
  if (op.kind == NeutralOp::kMoveHead) return op.amount > 0 ? static_cast<uint32_t>(op.amount) : 0;
  return op.kind == NeutralOp::kLoadDst ? static_cast<uint32_t>(op.amount) + 4 : 0;
}

}  // namespace heddle
