#pragma once

#include <cstdint>

#include "core/columns.h"
#include "core/neutral.h"

namespace heddle::gpu {

constexpr int kMaxNodes = 16;     ///< elements of one GPU segment
constexpr int kMaxTargets = 256;  ///< outputs and drop reasons of all of them together

/** A target below this is a node of the same segment; from here up it is exit `target - kExit`. */
constexpr uint16_t kExit = 0x8000;

/** A GPU segment as the kernel runs it: its elements in topological order. Lives in device memory; each block copies it
 * into its shared memory when the kernel starts. */
struct Program {
  struct Node {
    int16_t function;       ///< index into the kernels' switch, or -1: `neutral`
    uint16_t first_target;  ///< targets[first_target + port], then one a drop reason
    uint16_t outputs;       ///< number of output ports
    NeutralOp neutral;
    const void* table;           ///< device address of Element::table()
    unsigned long long* counts;  ///< kCount: device address of packets, bytes
  };
  Node nodes[kMaxNodes];
  uint16_t targets[kMaxTargets];
  uint16_t count;         ///< nodes in use; packets enter at nodes[0]
  bool word_has_dst;      ///< the slot's words carry the column dst instead of the packet's offset
  ColumnSet columns_in;   ///< columns that the host has written into the slot
  ColumnSet columns_out;  ///< columns that the host wants back
  bool writes_packets;    ///< packet bytes must be visible to the host before the result words
};

}  // namespace heddle::gpu
