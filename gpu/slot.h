#pragma once

#include <cstdint>

#include "core/columns.h"
#include "core/macros.h"

namespace heddle::gpu {

/** Packets of a slot, of a tile, and threads of the block that works on it. */
constexpr int kTile = 32;

/** A slot is one batch in flight between CPU and GPU, in pinned host memory. Its words carry data and readiness in one:
 *
 *      word:   stamp (8 bits) | length (16) | tight (1) | offset (39)   host to GPU, one a packet
 *      result: stamp (8 bits) | tail (8) | exit (16)                    GPU to host, one a packet
 *
 *  `stamp` is the slot's sequence number, 1..255 and round again: both sides count along, so a word with the expected
 *  stamp is new, and no flag, dispatcher or launch is needed. `offset` is where the frame starts, from the base of the
 *  packet memory; `tight` that the buffer has no room behind the packet for what the program may append. `exit` says
 *  where the packet goes, see Program; `tail` by how many bytes its end has moved, -128..127. All 32 words are written for each use; those
 *  without a packet carry kNoPacket. A program that reads no packet bytes, only the column dst, gets it in the place of the
 *  offset (Program::word_has_dst), and no second read is needed. Other columns that the program reads are written before the words, those that it writes
 *  before the results. */
struct alignas(128) Slot {
  uint64_t word[kTile];
  uint32_t column[kColumns][kTile];
  uint32_t result[kTile];
};

constexpr uint64_t kNoPacket = (uint64_t{1} << 40) - 1;

/** In a place: the buffer has no room behind the packet for what the program may append. */
constexpr uint64_t kTight = uint64_t{1} << 39;

/** `place`: the packet's offset, or what stands for it. */
HEDDLE_HD constexpr uint64_t pack_word(uint32_t stamp, uint32_t length, uint64_t place) {
  return uint64_t{stamp} << 56 | uint64_t{length} << 40 | place;
}
HEDDLE_HD constexpr uint32_t stamp_of(uint64_t word) { return static_cast<uint32_t>(word >> 56); }
HEDDLE_HD constexpr uint32_t length_of(uint64_t word) { return static_cast<uint32_t>(word >> 40) & 0xffff; }
HEDDLE_HD constexpr uint64_t offset_of(uint64_t word) { return word & kNoPacket; }
HEDDLE_HD constexpr uint32_t pack_result(uint32_t stamp, int tail, uint32_t exit) {
  return stamp << 24 | (static_cast<uint32_t>(tail) & 0xff) << 16 | exit;
}
HEDDLE_HD constexpr uint32_t exit_of(uint32_t result) { return result & 0xffff; }
HEDDLE_HD constexpr int tail_of(uint32_t result) { return static_cast<int8_t>(result >> 16); }
HEDDLE_HD constexpr uint32_t next_stamp(uint32_t stamp) { return stamp == 255 ? 1 : stamp + 1; }

/** Ends the warp that polls a slot: put into all words of an empty slot. No stamp is 0. */
constexpr uint64_t kStopWord = 0x00ffffffffffffff;

}  // namespace heddle::gpu
