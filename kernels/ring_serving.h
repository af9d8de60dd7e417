#pragma once

#include "core/macros.h"
#include "gpu/rings.h"
#include "kernels/gate.h"

namespace heddle::gpu {

/** Whose packets are next to be placed, with all that their warp has to know. It is one word, so that the turn can be
 *  passed on without a release, which would wait until memory has what the warp has written of its packets. */
struct RingTurn {
  uint64_t bits;

  /** `dropped`: what is to be taken from a position for the place where it leaves. `chained`: whether the last
   *  descriptor before `start` goes on in the next. Of positions there are 31 bits: more than may be under way. */
  static HEDDLE_HD uint64_t word(uint32_t start, uint32_t dropped, bool chained) {
    return uint64_t{dropped} << 32 | uint64_t{chained} << 31 | (start & 0x7fffffff);
  }
  HEDDLE_HD bool is_of(uint32_t start) const { return ((static_cast<uint32_t>(bits) ^ start) & 0x7fffffff) == 0; }
  HEDDLE_HD uint32_t dropped() const { return static_cast<uint32_t>(bits >> 32); }
  HEDDLE_HD bool chained() const { return (bits >> 31 & 1) != 0; }
};

/** What the warps that serve a ring pair tell each other. `window`: packets that may be under way, a power of two. */
template <uint32_t window>
struct RingBoard {
  static constexpr uint32_t kWindow = window;

  uint64_t turn;       ///< a RingTurn
  uint32_t end;        ///< packets before it may be claimed
  uint32_t claimed;    ///< packets before it are
  uint32_t published;  ///< packets before it are done with, and about to be told to the peers
  uint32_t sent;       ///< the same as a place on the transmitting ring
  uint32_t told;       ///< packets before it have been
  uint32_t stop, ended;
  uint32_t in_turn[kMostTurns];  ///< whose packets are next at the program's functions that want the order of arrival
  uint16_t done[window];         ///< done[start % window]: received | placed << 8, of a tile that is finished; else 0

  /** All but `done`. */
  HEDDLE_HD void begin(const RingPair& pair) {
    end = claimed = published = told = pair.rx.position;
    sent = pair.tx.position;
    turn = RingTurn::word(pair.rx.position, pair.rx.position - pair.tx.position, false);
    stop = ended = 0;
    for (uint32_t& one : in_turn) one = pair.rx.position;
  }
};
using NearBoard = RingBoard<2048>;                      ///< of one block, in shared memory
using FarBoard = RingBoard<1 << memif::kMostLog2Size>;  ///< of several, in device memory

/** A tile on its way from one of a ring pair's kernels to the next, if three serve it (kernels/ring_split.cuh): what is
 *  in RingTile, lane i's packet at i. Device memory. */
struct HandedTile {
  uint8_t* frame[kSlotPackets];
  uint32_t length[kSlotPackets], buffer[kSlotPackets];
  int drop[kSlotPackets];
  uint32_t start;
  int packets;
  unsigned goes_on;
};
constexpr uint32_t kHandedTiles = 128;  ///< of a ring pair; tile t is the one at t % kHandedTiles
enum TileOwner : uint32_t { kReceiver, kApplication, kTransmitter };

/** What these kernels tell each other. Device memory. */
struct RingHandover {
  /** Whose tile t is, and that it is t and not an earlier one in its place. */
  static HEDDLE_HD uint32_t status_of(uint32_t t, TileOwner owner) { return t << 2 | owner; }
  /** Packets before `received` have been returned, on `sent` places of the transmitting ring. */
  static HEDDLE_HD uint64_t progress_of(uint32_t received, uint32_t sent) { return uint64_t{sent} << 32 | received; }

  uint64_t progress;                   ///< of the transmitting kernel, before it tells the peers
  alignas(128) uint32_t ended, tiles;  ///< the receiving kernel has, after so many tiles
  alignas(128) uint32_t status[kHandedTiles];

  void begin(const RingPair& pair) {
    progress = progress_of(pair.rx.position, pair.tx.position);
    ended = tiles = 0;
    for (uint32_t t = 0; t < kHandedTiles; ++t) status[t] = status_of(t, kReceiver);
  }
};

/** What a launch of the rings' kernel serves: block b the pair b / blocks, until its control says stop. */
struct RingServing {
  const RingPair* pairs;   ///< pinned
  RingControl* controls;   ///< by pair, pinned
  FarBoard* boards;        ///< by pair, if it has several blocks: device memory, begun
  uint32_t blocks;         ///< of a pair
  const Program* program;  ///< device memory; exit 0 is the transmitting ring
  RingCount* drops;        ///< [exits], device memory, see gpu/rings.h
  uint16_t exits;
  uint16_t first_node;    ///< where packets enter the program
  uint16_t last_node;     ///< that counts what is transmitted
  uint32_t memory_units;  ///< dynamic shared memory of a warp, in 16 bytes
  uint8_t* stage;  ///< [block][warp][kSlotPackets][stage_bytes], device memory, where packets are gathered; or null
  uint32_t stage_bytes;     ///< a multiple of Copies::kLine
  Gate* gate;               ///< of what is gathered
  RingHandover* handovers;  ///< by pair, if three kernels serve it: device memory, begun
  HandedTile* tiles;        ///< [pair][kHandedTiles], the same
};

}  // namespace heddle::gpu
