#pragma once

#include <cstddef>
#include <cstdint>

#include "core/macros.h"

namespace heddle::gpu {

constexpr int kLanes = 32;        ///< threads of a warp
constexpr int kSlotPackets = 32;  ///< packets of a slot, and of the tile that a block makes of it

struct Program;

/** A slot is one batch in flight between CPU and GPU, in pinned host memory. Its words carry data and readiness in one:
 *
 *      word:           stamp (8 bits) | length (16) | switch (1) | offset (39)   host to GPU, one a packet
 *      result, narrow: stamp (8 bits) | 0 (8) | exit (16)                        GPU to host, one a packet
 *      result, wide:   stamp (8 bits) | 0 (8) | head (16) | tail (16) | exit (16)
 *
 *  `stamp` is the slot's sequence number, 1..255 and round again: both sides count along, so a word with the expected
 *  stamp is new, and no flag, dispatcher or launch is needed. `offset` is where the packet starts, from the base of the
 *  packet memory. `exit` says where the packet goes, see Program; `head` and `tail` by how many bytes its start and its
 *  end have moved, -32,768..32,767, both positive towards the end of the buffer. Results are narrow where the plan
 *  knows that nothing moves. All words and results are written for each use; words without a packet carry kNoPacket.
 *
 *  A program that reads no packet bytes and one 32-bit column gets that in the place of the offset
 *  (Program::word_column), and no second read is needed. Other columns that the program reads are written before the
 *  words, those that it writes before the results.
 *
 *  `switch` in any word tells the block to read `program` and `columns` again before it goes on: so a slot is given to
 *  a segment, or a segment to another program (a new generation of a table), while kernels are resident. A tile runs
 *  one program to its end. */
struct alignas(128) Slot {
  uint64_t word[kSlotPackets];
  const Program* program;  ///< in device memory
  uint32_t* columns;       ///< pinned: the program's columns, [word of 32 bits][kSlotPackets], laid out as Program says
  uint64_t landing;        ///< where its packets land, see Copies; an offset as those of packets, kNoPacket: nowhere
  /** Results lie so far from the words that the CPU, which writes those line by line, does not prefetch what the GPU is
   *  about to write (a third of the rate of lookups by four threads); and slots not at a power of two, or they would
   *  share a few sets of its cache. */
  alignas(128) std::byte gap[256];
  union {
    uint32_t narrow[kSlotPackets];
    uint64_t wide[kSlotPackets];
  } result;
};
static_assert(offsetof(Slot, result) == 640 && sizeof(Slot) == 896);

constexpr uint64_t kNoPacket = (uint64_t{1} << 39) - 1;
constexpr uint64_t kSwitch = uint64_t{1} << 39;

/** `place`: the packet's offset, or what stands for it. */
HEDDLE_HD constexpr uint64_t pack_word(uint32_t stamp, uint32_t length, uint64_t place) {
  return uint64_t{stamp} << 56 | uint64_t{length} << 40 | place;
}
HEDDLE_HD constexpr uint32_t stamp_of(uint64_t word) { return static_cast<uint32_t>(word >> 56); }
HEDDLE_HD constexpr uint32_t length_of(uint64_t word) { return static_cast<uint32_t>(word >> 40) & 0xffff; }
HEDDLE_HD constexpr uint64_t offset_of(uint64_t word) { return word & kNoPacket; }

/** What becomes of a packet. */
struct Outcome {
  uint32_t exit;
  int head = 0, tail = 0;  ///< bytes by which its start and its end have moved
};
HEDDLE_HD constexpr uint32_t pack_narrow(uint32_t stamp, uint32_t exit) { return stamp << 24 | exit; }
HEDDLE_HD constexpr uint64_t pack_wide(uint32_t stamp, Outcome outcome) {
  return uint64_t{stamp} << 56 | uint64_t{static_cast<uint16_t>(outcome.head)} << 32 |
         uint64_t{static_cast<uint16_t>(outcome.tail)} << 16 | outcome.exit;
}
HEDDLE_HD constexpr Outcome outcome_of(uint32_t narrow) { return {narrow & 0xffff}; }
HEDDLE_HD constexpr Outcome outcome_of(uint64_t wide) {
  return {static_cast<uint32_t>(wide & 0xffff), static_cast<int16_t>(wide >> 32), static_cast<int16_t>(wide >> 16)};
}
HEDDLE_HD constexpr uint32_t next_stamp(uint32_t stamp) { return stamp == 255 ? 1 : stamp + 1; }

/** Ends the block that polls a slot: put into all words of an empty slot. No stamp is 0. */
constexpr uint64_t kStopWord = 0x00ffffffffffffff;

}  // namespace heddle::gpu
