#pragma once

#include "core/macros.h"
#include "gpu/rings.h"
#include "kernels/gate.h"

namespace heddle::gpu {

/** What the warps that serve a ring pair tell each other about its tiles, up to 32 packets each. Tiles are numbered in
 *  the order in which their packets came, and one of `most` words has the tile of that number, modulo `most`: how often
 *  the words have been used, the lap, says whether it is this one. A word of zeros is of none. */
template <uint32_t most>
struct TileWords {
  static_assert((most & (most - 1)) == 0);
  static constexpr uint32_t kMax = most, kLapBits = 16, kLapMask = (1u << kLapBits) - 1;
  static HEDDLE_HD uint32_t place(uint32_t tile) { return tile % most; }
  static HEDDLE_HD uint32_t lap(uint32_t tile) { return tile / most & kLapMask; }

  /** Which packets the scout has put into a tile: [start, start + packets). */
  struct Made {
    uint64_t bits;
    static HEDDLE_HD Made of(uint32_t tile, uint32_t start, uint32_t packets) {
      return {uint64_t{start} << 32 | packets << kLapBits | lap(tile)};
    }
    HEDDLE_HD bool is_of(uint32_t tile) const { return packets() != 0 && (bits & kLapMask) == lap(tile); }
    HEDDLE_HD uint32_t start() const { return static_cast<uint32_t>(bits >> 32); }
    HEDDLE_HD uint32_t packets() const { return static_cast<uint32_t>(bits) >> kLapBits; }
  };

  /** How many packets are dropped, so that the tiles behind know where theirs leave. All that they want is in one word:
   *  it is stored without a release, which would wait until memory has what the warp has written of its packets.
   *  Tiles count at the same time, and look back for what those before them have found: Merrill and Garland,
   *  Single-pass Parallel Prefix Scan with Decoupled Look-back (2016). */
  struct Dropped {
    enum State : uint32_t {
      kNone,
      kRead,   ///< the descriptors are read, so it is known whether the last goes on in the next tile's
      kOwn,    ///< also how many of this tile's packets are dropped
      kTotal,  ///< of all tiles' so far: a packet's position less this is the place where it leaves
    };
    uint64_t bits;
    static HEDDLE_HD Dropped of(uint32_t tile, State state, bool chained, uint32_t count) {
      return {uint64_t{count} << 32 | uint32_t{chained} << (kLapBits + 2) | state << kLapBits | lap(tile)};
    }
    HEDDLE_HD State state(uint32_t tile) const {
      return (bits & kLapMask) == lap(tile) ? static_cast<State>(bits >> kLapBits & 3) : kNone;
    }
    HEDDLE_HD bool chained() const { return (bits >> (kLapBits + 2) & 1) != 0; }
    HEDDLE_HD uint32_t count() const { return static_cast<uint32_t>(bits >> 32); }
  };

  /** A tile is finished: how many packets it had, and how many of them have been placed. */
  struct Done {
    uint32_t bits;
    static HEDDLE_HD Done of(uint32_t tile, uint32_t packets, uint32_t placed) {
      return {placed << (kLapBits + 8) | packets << kLapBits | lap(tile)};
    }
    HEDDLE_HD bool is_of(uint32_t tile) const { return packets() != 0 && (bits & kLapMask) == lap(tile); }
    HEDDLE_HD uint32_t packets() const { return bits >> kLapBits & 0xff; }
    HEDDLE_HD uint32_t placed() const { return bits >> (kLapBits + 8); }
  };

  uint64_t made[most], dropped[most];
  uint32_t done[most];

  /** Tile 0 will be the first, and those before it have dropped so many. Threads of a block can share the work. */
  HEDDLE_HD void begin(uint32_t total, uint32_t thread, uint32_t threads) {
    for (uint32_t i = thread; i < most; i += threads)
      made[i] = done[i] = 0, dropped[i] = i == most - 1 ? Dropped::of(~0u, Dropped::kTotal, false, total).bits : 0;
  }
};

/** How far a pair is, in one word, so that both are of one moment: packets before `received` are done with, on places
 *  of the transmitting ring before `sent`. The difference is what was dropped. */
struct RingProgress {
  uint64_t bits;
  static HEDDLE_HD RingProgress of(uint32_t received, uint32_t sent) { return {uint64_t{sent} << 32 | received}; }
  HEDDLE_HD uint32_t received() const { return static_cast<uint32_t>(bits); }
  HEDDLE_HD uint32_t sent() const { return static_cast<uint32_t>(bits >> 32); }
};

/** All that they tell each other. At most `tiles` - 1 are under way, for the oldest of them looks back at the one
 *  before it. */
template <uint32_t tiles>
struct RingBoard {
  using Tiles = TileWords<tiles>;

  uint64_t progress;  ///< RingProgress, about to be told to the peers
  uint32_t told;      ///< packets before it have been told
  uint32_t finished;  ///< tiles before it are done with
  uint32_t stop, ended;
  uint32_t in_turn[kMaxTurns];  ///< whose packets are next at the program's functions that want the order of arrival
  Tiles words;

  HEDDLE_HD void begin(const RingPair& pair, uint32_t thread = 0, uint32_t threads = 1) {
    words.begin(pair.rx.position - pair.tx.position, thread, threads);
    if (thread != 0) return;
    progress = RingProgress::of(pair.rx.position, pair.tx.position).bits;
    told = pair.rx.position;
    finished = stop = ended = 0;
    for (uint32_t& one : in_turn) one = pair.rx.position;
  }
};
using NearBoard = RingBoard<128>;                                           ///< of one block, in shared memory
using FarBoard = RingBoard<2 * (1 << memif::kMaxLog2Size) / kSlotPackets>;  ///< of several, in device memory
// A tile may still look at words of those before it when they are long done with: at none before its own worker's last
// tile, W before it if there are W workers, while no tile 2 W or more behind it has begun, for the worker's own is
// between.
static_assert(3 * kMaxTeams <= FarBoard::Tiles::kMax);

/** A tile on its way from one of a ring pair's kernels to the next, if three serve it (kernels/ring_split.cuh): what
 *  RingTile says of its packets, lane i's at i. Device memory. */
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
  uint64_t progress;                   ///< RingProgress of the transmitting kernel, before it tells the peers
  alignas(128) uint32_t ended, tiles;  ///< the receiving kernel has, after so many tiles
  alignas(128) uint32_t status[kHandedTiles];

  void begin(const RingPair& pair) {
    progress = RingProgress::of(pair.rx.position, pair.tx.position).bits;
    ended = tiles = 0;
    for (uint32_t t = 0; t < kHandedTiles; ++t) status[t] = status_of(t, kReceiver);
  }
};

/** What a launch of the rings' kernel serves: block b the pair b / blocks, until its control says stop. */
struct RingServing {
  const RingPair* pairs;      ///< pinned
  RingControl* controls;      ///< by pair, pinned
  FarBoard* boards;           ///< by pair, if it has several blocks: device memory, begun
  uint32_t blocks;            ///< of a pair
  const RingOutput* outputs;  ///< [pair][output_count], if their kind is routed: pinned
  uint32_t output_count;
  const Program* program;  ///< device memory; the first exits are transmitting rings
  RingCount* drops;        ///< [exits], device memory, see gpu/rings.h
  RingNodes nodes;
  uint32_t memory_units;    ///< dynamic shared memory of a warp, or of a team, in 16 bytes
  uint8_t* stage;           ///< [block][kSlotPackets][stage_bytes], device memory, where teams gather packets; or null
  uint32_t stage_bytes;     ///< a multiple of Copies::kLine
  Gate* gate;               ///< of what is gathered
  RingHandover* handovers;  ///< by pair, if three kernels serve it: device memory, begun
  HandedTile* tiles;        ///< [pair][kHandedTiles], the same
};

}  // namespace heddle::gpu
