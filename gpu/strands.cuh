#pragma once

// Packets cut into parts for a search that goes over them byte by byte.

#include <cuda_runtime.h>

#include "gpu/tile.cuh"

namespace heddle::gpu {

/** The texts of a tile's packets, cut at multiples of 128 bytes into strands, each of which a thread of its own
 *  searches. It begins as far before its strand as something that ends in it may begin. The block brings a line of 128
 *  bytes of every strand at a time into shared memory, eight neighbouring threads a line, so that PCIe carries whole
 *  lines and all of them are under way at once. A part of a function's Scratch. */
struct Strands {
  static constexpr uint32_t kLine = 128, kPiece = 16;
  static constexpr int kMax = 128;

  /** What lay_out() is told of a packet's text: it is bytes [begin, end) of the packet, and what is looked for begins
   *  at most `before` bytes before its last one. */
  struct Text {
    uint32_t begin, end, before;
  };
  /** Bytes [first, last) behind `line`, an address that is a multiple of kLine; those before `own` are another's. */
  struct Strand {
    const uint8_t* line;
    uint32_t first, own, last;
  };
  Strand strand[kMax];                  // s: part s % each of tile.packet(s / each)
  uint32_t bytes[kMax][kLine / 4 + 1];  // the line that is searched; + 1: other banks for each strand
  uint32_t lines;                       // of the longest strand

  /** Strands of a packet, so that there are no more than threads. */
  static __device__ int each(const Block& block, const Tile& tile) {
    int each = 1;
    while (tile.count() * each * 2 <= min(block.threads, kMax)) each *= 2;
    return each;
  }

  /** Cuts the texts into strands; text_of(k) is the Text of tile.packet(k). The whole block calls it. What its threads
   *  have written before is there for text_of, and the strands for all of them on return. */
  template <class TextOf>
  __device__ void lay_out(const Block& block, const Tile& tile, int each, const TextOf& text_of) {
    if (block.thread == 0) lines = 0;
    block.sync();
    for (int s = block.thread; s < tile.count() * each; s += block.threads) {
      const int k = s / each, i = tile.packet(k);
      const Text text = text_of(k);
      const auto first = reinterpret_cast<uintptr_t>(tile.frame(i)) + text.begin;
      const auto last = reinterpret_cast<uintptr_t>(tile.frame(i)) + text.end;
      const uintptr_t line = first & ~uintptr_t{kLine - 1};
      const auto its_lines = static_cast<uint32_t>((last - line + kLine - 1) / kLine);
      const uint32_t share = (its_lines + static_cast<uint32_t>(each) - 1) / static_cast<uint32_t>(each) * kLine;
      // From here on in bytes behind the text's first line.
      const auto begin = share * static_cast<uint32_t>(s % each), skipped = static_cast<uint32_t>(first - line);
      const uint32_t end = min(begin + share, static_cast<uint32_t>(last - line)), own = max(begin, skipped);
      strand[s] = {nullptr, 0, 0, 0};
      if (own >= end) continue;
      const uint32_t from = begin > skipped + text.before ? begin - text.before : skipped;
      const uint32_t whole = from & ~(kLine - 1);
      strand[s] = {reinterpret_cast<const uint8_t*>(line + whole), from - whole, own - whole, end - whole};
      atomicMax(&lines, (end - whole + kLine - 1) / kLine);
    }
    block.sync();
  }

  /** Line `n` of every strand, of which there are `count`, into shared memory. Each thread has kAhead pieces under
   *  way. In place after the next sync. */
  __device__ void load(const Block& block, int count, uint32_t n) {
    constexpr int kAhead = 8;
    const Group<kLine / kPiece> group(block);
    const uint32_t at = n * kLine + static_cast<uint32_t>(group.rank()) * kPiece;
    for (int base = group.index(); base < count; base += kAhead * group.count()) {
      uint4 piece[kAhead];
#pragma unroll
      for (int u = 0; u < kAhead; ++u) {
        piece[u] = make_uint4(0, 0, 0, 0);
        const int s = base + u * group.count();
        if (s >= count) continue;
        if (at + kPiece > strand[s].first && at < strand[s].last)
          piece[u] = *reinterpret_cast<const uint4*>(strand[s].line + at);
      }
#pragma unroll
      for (int u = 0; u < kAhead; ++u) {
        const int s = base + u * group.count();
        if (s >= count) continue;
        uint32_t* const to = &bytes[s][static_cast<uint32_t>(group.rank()) * kPiece / 4];
        to[0] = piece[u].x, to[1] = piece[u].y, to[2] = piece[u].z, to[3] = piece[u].w;
      }
    }
  }

  /** Calls step(byte, at) for the bytes of strand s in line `n`, which has been loaded, from `from` on: `at` counts
   *  from Strand::line. Ends when it returns false. */
  template <class Step>
  __device__ void walk(int s, uint32_t n, uint32_t from, const Step& step) const {
    const uint32_t to = min(strand[s].last, (n + 1) * kLine);
    const uint32_t* const words = bytes[s];
    uint32_t at = from;
    while (at < to) {
      const uint32_t word = words[(at - n * kLine) / 4];
#pragma unroll
      for (uint32_t b = 0; b < 4; ++b) {
        if (b < at % 4 || at - at % 4 + b >= to) continue;
        if (!step(word >> 8 * b & 255, at - at % 4 + b)) return;
      }
      at = (at & ~3u) + 4;
    }
  }
};

}  // namespace heddle::gpu
