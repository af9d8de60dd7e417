#pragma once

#include <cstdint>

#include "core/columns.h"
#include "core/neutral.h"
#include "gpu/slot.h"
#include "gpu/transport.h"

namespace heddle::gpu {

constexpr int kMaxNodes = 32;     ///< elements of one GPU segment
constexpr int kMaxTargets = 512;  ///< outputs and drop reasons of all of them together
constexpr int kMaxTurns = 4;      ///< nodes whose functions want packets in the order of arrival

/** A target below this is a node of the same segment; from here up it is exit `target - kExit`. */
constexpr uint16_t kExit = 0x8000;
constexpr uint8_t kNoColumn = 0xff;

/** Packets and bytes that have come to a node. Device memory. */
struct NodeCounts {
  unsigned long long packets, bytes;
};

/** A GPU segment as the kernel runs it: its elements in topological order. Lives in device memory; a block copies it
 *  into its shared memory when a slot is given to it. Tables of a program never change their place: what takes a new
 *  generation of a table is a new program. */
struct Program {
  struct Node {
    int16_t function;       ///< index into the kernels' switch, or -1: `neutral`
    uint16_t first_target;  ///< targets[first_target + port], then one a drop reason
    uint16_t outputs;       ///< number of output ports
    uint16_t shared_at;     ///< where the function's Shared lies, in 16 bytes from the block's dynamic shared memory
    NeutralOp neutral;
    const void* table;  ///< device address of the function's table
    void* state;        ///< device address of the function's State
  };
  Node nodes[kMaxNodes];
  uint16_t targets[kMaxTargets];
  uint16_t count;  ///< nodes in use; packets of slots enter at nodes[0], those of rings where RingNodes says

  /** Where a column lies in the tile: in 32-bit words of kSlotPackets packets, even for wide ones; kNoColumn:
   *  nowhere. */
  uint8_t place[kColumns];
  uint8_t column_words;  ///< of the tile, in words of kSlotPackets packets
  /** What a tile has to do for the program beside its functions, in one word, since each look at shared memory takes
   *  about 30 cycles. */
  enum Feature : uint8_t {
    kColumnInWords = 1,  ///< there is a word_column
    kColumnsIn = 2,      ///< columns_in and columns_out are not empty
    kColumnsOut = 4,
    kCopies = 8,           ///< there are copies
    kWideResults = 16,     ///< results are wide
    kWrites = 32,          ///< what is written to host memory must be visible there before the results
    kSmallTilesWait = 64,  ///< between GPU ports, tiles that are not full wait for those before them
  };
  uint8_t features;
  HEDDLE_HD bool has(Feature feature) const { return (features & feature) != 0; }
  /** Columns that the host has written into the slot, and those that it wants back, in the order in which they lie
   *  there: first all that go in, from 0, then all that come back, from columns_out_at. */
  ColumnSet columns_in, columns_out;
  uint8_t columns_out_at;  ///< in words of kSlotPackets packets
  uint8_t word_column;     ///< the column that the words carry in place of the offset; kNoColumn: none
  uint8_t turns;           ///< nodes that want packets in the order of arrival, and which they are, ascending
  uint8_t in_turn[kMaxTurns];
  uint16_t first_drop;  ///< exits from this on are drops: nothing of such packets is copied back
  Copies copies;        ///< transport gather, if there are any; else functions work on the packets where they lie
  NodeCounts* counts;   ///< [count], device memory; entry 0 is the host's business
  uint16_t scratch_at;  ///< where the functions' scratch begins, in 16 bytes from the block's dynamic shared memory
};

}  // namespace heddle::gpu
