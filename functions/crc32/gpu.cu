#include "functions/crc32/rule.h"
#include "gpu/bytes.cuh"
#include "gpu/registry.cuh"

namespace heddle::crc32 {

/** Bits of each byte in reverse: most significant first becomes least significant first. */
__device__ inline uint32_t bytes_reversed(uint32_t word) { return __byte_perm(__brev(word), 0, 0x0123); }

/** The ones of a word at `here` that lie within [first, last). */
__device__ inline uint32_t within(uintptr_t here, uintptr_t first, uintptr_t last) {
  uint32_t mask = ~0u;
  if (here < first) mask = first - here >= 4 ? 0 : mask << 8 * (first - here);
  if (last < here + 4) mask = last <= here ? 0 : mask & ~0u >> 8 * (here + 4 - last);
  return mask;
}

/** 16 aligned bytes, with 0 for those outside [first, last). */
__device__ inline uint4 load_piece(uintptr_t here, uintptr_t first, uintptr_t last) {
  if (here + kPiece <= first || here >= last) return make_uint4(0, 0, 0, 0);
  uint4 piece = *reinterpret_cast<const uint4*>(here);
  if (here < first || here + kPiece > last) {
    piece.x &= within(here, first, last);
    piece.y &= within(here + 4, first, last);
    piece.z &= within(here + 8, first, last);
    piece.w &= within(here + 12, first, last);
  }
  return piece;
}

__device__ inline uint32_t added(uint32_t remainder, uint4 piece, const Tables& tables) {
  if (tables.variant == Variant::click)
    piece =
        make_uint4(bytes_reversed(piece.x), bytes_reversed(piece.y), bytes_reversed(piece.z), bytes_reversed(piece.w));
  const uint32_t words[4] = {piece.x ^ remainder, piece.y, piece.z, piece.w};
  uint32_t sum = 0;
#pragma unroll
  for (int k = 0; k < kPiece; ++k) sum ^= tables.piece[k][words[k / 4] >> 8 * (k % 4) & 255];
  return sum;
}

__device__ inline uint32_t shifted(uint32_t remainder, int e, const Tables& tables) {
  uint32_t sum = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) sum ^= tables.further[e][k][remainder >> 8 * k & 255];
  return sum;
}

/** CRCs of a function's packets, [k]: of tile.packet(k). */
struct Sums {
  uint32_t of[gpu::kSlotPackets];
};

/** Puts the CRC of each packet, without its last `behind` bytes, into `sums`. The whole block calls it: eight threads a
 *  packet, each every eighth piece of 16 bytes, kAhead of them in flight; then a tree of shuffles makes one remainder
 *  of their eight; then a thread a packet shifts that to the packet's end, which lies anywhere in its line. Results are
 *  in place for all threads on return. */
__device__ inline void sum_up(const gpu::Block& block, gpu::Tile& tile, const Tables& tables, uint32_t behind,
                              Sums& sums) {
  constexpr int kAhead = 8;
  const gpu::Group<kLanes> group(block);
  const auto bytes_of = [&](int k) {
    const uint32_t length = tile.length(tile.packet(k));
    return length < behind ? 0 : length - behind;
  };
  for (int base = 0; base < tile.count(); base += group.count()) {
    const int k = base + group.index();
    const bool mine = k < tile.count();
    const uint32_t bytes = mine ? bytes_of(k) : 0;
    const auto first = mine ? reinterpret_cast<uintptr_t>(tile.frame(tile.packet(k))) : uintptr_t{0};
    const uintptr_t last = first + bytes;
    uint32_t remainder = 0;
    const uintptr_t start = first / kLine * kLine, end = bytes == 0 ? start : last;
    for (uintptr_t line = start; line < end; line += kAhead * kLine) {
      uint4 pieces[kAhead];
#pragma unroll
      for (int u = 0; u < kAhead; ++u)
        pieces[u] = load_piece(line + static_cast<uintptr_t>(u * kLine + group.rank() * kPiece), first, last);
#pragma unroll
      for (int u = 0; u < kAhead; ++u)
        if (line + static_cast<uintptr_t>(u * kLine) < end) remainder = added(remainder, pieces[u], tables);
    }
    remainder =
        group.fold(remainder, [&](uint32_t mine, uint32_t next, int e) { return shifted(mine, e, tables) ^ next; });
    if (k < tile.count() && group.rank() == 0) sums.of[k] = remainder;
  }
  block.sync();
  for (int k = block.thread; k < tile.count(); k += block.threads) {
    const uint32_t bytes = bytes_of(k);
    const uintptr_t last = reinterpret_cast<uintptr_t>(tile.frame(tile.packet(k))) + bytes;
    const uint32_t left = static_cast<uint32_t>(-last) % kLine;  // to the end of the line
    const uint32_t sum = finished(multiplied(sums.of[k], tables.back[left]), bytes, tables);
    sums.of[k] = tables.variant == Variant::click ? __brev(sum) : ~sum;
  }
  block.sync();
}

struct SetTile {
  using Table = Tables;
  using Scratch = Sums;
  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Tables& tables, Sums& sums) const {
    sum_up(block, tile, tables, 0, sums);
    for (int k = block.thread; k < tile.count(); k += block.threads) {
      const int i = tile.packet(k);
      gpu::store_u32(tile.frame(i) + tile.length(i), sums.of[k]);
      tile.set_length(i, tile.length(i) + kBytes);
    }
  }
};

struct CheckTile {
  using Table = Tables;
  using Scratch = Sums;
  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Tables& tables, Sums& sums) const {
    sum_up(block, tile, tables, kBytes, sums);
    for (int k = block.thread; k < tile.count(); k += block.threads) {
      const int i = tile.packet(k);
      const bool is_short = tile.length(i) < kBytes;
      if (!is_short && gpu::load_u32(tile.frame(i) + tile.length(i) - kBytes) == sums.of[k])
        tile.set_length(i, tile.length(i) - kBytes);
      else if (tables.second_output)
        tile.next(i, 1);
      else
        tile.drop(i, is_short ? kShort : kBadCrc);
    }
  }
};

}  // namespace heddle::crc32

HEDDLE_GPU_FUNCTION(SetCRC32, heddle::crc32::SetTile);
HEDDLE_GPU_FUNCTION(CheckCRC32, heddle::crc32::CheckTile);
