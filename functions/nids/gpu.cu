#include "functions/nids/candidates.h"
#include "functions/nids/rule.h"
#include "gpu/bytes.cuh"
#include "gpu/events.cuh"
#include "gpu/registry.cuh"

namespace heddle::nids {

// A payload is cut into strands, at multiples of 128 bytes, and each is searched by a thread of its own, which begins
// as far before its strand as a pattern that ends in it may begin. The block brings a line of 128 bytes of every strand
// at a time into shared memory, eight neighbouring threads a line, so that PCIe carries whole lines and all of them are
// under way at once.
constexpr uint32_t kLine = 128, kPiece = 16, kLanes = kLine / kPiece;
constexpr int kStrands = 128;

struct SearchTile {
  static constexpr int kWarps = 4;
  using Table = Image;
  using State = Candidates;
  using Lines = gpu::Group<kLanes>;
  struct Shared {
    uint8_t class_of[256];
  };
  /** Bytes [first, last) behind `line`, an address that is a multiple of kLine. */
  struct Strand {
    const uint8_t* line;
    uint32_t first, last;
  };
  /** [k] is of tile.packet(k). */
  struct Scratch {
    Strand strands[kStrands];
    uint32_t bytes[kStrands][kLine / 4 + 1];  // the line that is searched; + 1: other banks for each strand
    uint32_t payload[gpu::kSlotPackets];      // where it begins
    uint32_t next[gpu::kSlotPackets];         // what becomes of the packet
    uint32_t lines;                           // of the longest strand
    unsigned long long first;                 // word of the candidate that the host is told of
  };

  static __device__ void fill(const gpu::Block& block, Shared& shared, const Image& image) {
    for (int i = block.thread; i < 256; i += block.threads) shared.class_of[i] = image.class_of[i];
  }

  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Image& image, Scratch& scratch,
                             const Shared& shared, Candidates& candidates) const {
    if (block.thread == 0) scratch.lines = 0;
    for (int k = block.thread; k < tile.count(); k += block.threads) read_headers(tile, k, image, scratch);
    block.sync();
    int each = 1;  // strands of a packet
    while (tile.count() * each * 2 <= min(block.threads, kStrands)) each *= 2;
    const int strands = tile.count() * each;
    for (int s = block.thread; s < strands; s += block.threads) lay_out(tile, s, each, scratch);
    block.sync();
    // There are no more strands than threads; those beyond them load only.
    uint32_t state = 0;
    for (uint32_t n = 0; n < scratch.lines; ++n) {
      load(block, scratch, strands, n);
      block.sync();
      if (block.thread < strands) search(image, shared, scratch, block.thread, each, n, state);
      block.sync();
    }
    if (image.tells != 0) return tell(block, tile, scratch, candidates);
    for (int k = block.thread; k < tile.count(); k += block.threads) tile.next(tile.packet(k), scratch.next[k]);
  }

 private:
  static __device__ void read_headers(const gpu::Tile& tile, int k, const Image& image, Scratch& scratch) {
    auto& columns = const_cast<gpu::Tile&>(tile);
    const int i = tile.packet(k);
    const uint32_t bytes = tile.length(i), network = columns.column(Column::l3, i);
    const uint32_t transport = min(columns.column(Column::l4, i), bytes), available = bytes - transport;
    scratch.payload[k] = bytes;
    scratch.next[k] = kDrop | kShort;
    if (network > bytes || bytes - network < kNetworkBytes) return;
    const uint8_t* const behind = tile.frame(i) + transport;
    const uint32_t control = gpu::load_u32(tile.frame(i) + network + 6);
    const uint32_t data_offset = available > 12 ? behind[12] : 0;
    const uint32_t skipped =
        transport_bytes(control, available, data_offset);  // so many have only whole headers of TCP
    if (image.is_always(protocol_of(control)) ||
        (image.syns != 0 && skipped >= kTcpBytes && (behind[13] & kSyn) != 0)) {
      scratch.next[k] = kCandidate;
      return;
    }
    scratch.payload[k] = transport + skipped;
    scratch.next[k] = kClean;
  }

  static __device__ void lay_out(const gpu::Tile& tile, int s, int each, Scratch& scratch) {
    const int k = s / each, i = tile.packet(k);
    const auto first = reinterpret_cast<uintptr_t>(tile.frame(i)) + scratch.payload[k];
    const auto last = reinterpret_cast<uintptr_t>(tile.frame(i)) + tile.length(i);
    const uintptr_t line = first & ~uintptr_t{kLine - 1};
    const auto lines = static_cast<uint32_t>((last - line + kLine - 1) / kLine);
    const uint32_t share = (lines + static_cast<uint32_t>(each) - 1) / static_cast<uint32_t>(each) * kLine;
    // From here on in bytes behind the payload's first line.
    const auto begin = share * static_cast<uint32_t>(s % each), skipped = static_cast<uint32_t>(first - line);
    const uint32_t end = min(begin + share, static_cast<uint32_t>(last - line));
    Strand& strand = scratch.strands[s];
    strand = {nullptr, 0, 0};
    if (max(begin, skipped) >= end) return;
    const uint32_t from = begin > skipped + kLongestPattern - 1 ? begin - (kLongestPattern - 1) : skipped;
    const uint32_t before = from & ~(kLine - 1);
    strand = {reinterpret_cast<const uint8_t*>(line + before), from - before, end - before};
    atomicMax(&scratch.lines, (strand.last + kLine - 1) / kLine);
  }

  /** Line `n` of every strand, into shared memory. Each thread has kAhead pieces under way. */
  static __device__ void load(const gpu::Block& block, Scratch& scratch, int strands, uint32_t n) {
    constexpr int kAhead = 8;
    const Lines group(block);
    const uint32_t at = n * kLine + static_cast<uint32_t>(group.rank()) * kPiece;
    for (int base = group.index(); base < strands; base += kAhead * group.count()) {
      uint4 piece[kAhead];
#pragma unroll
      for (int u = 0; u < kAhead; ++u) {
        piece[u] = make_uint4(0, 0, 0, 0);
        const int s = base + u * group.count();
        if (s >= strands) continue;
        const Strand& strand = scratch.strands[s];
        if (at + kPiece > strand.first && at < strand.last)
          piece[u] = *reinterpret_cast<const uint4*>(strand.line + at);
      }
#pragma unroll
      for (int u = 0; u < kAhead; ++u) {
        const int s = base + u * group.count();
        if (s >= strands) continue;
        uint32_t* const to = &scratch.bytes[s][static_cast<uint32_t>(group.rank()) * kPiece / 4];
        to[0] = piece[u].x, to[1] = piece[u].y, to[2] = piece[u].z, to[3] = piece[u].w;
      }
    }
  }

  /** Searches line `n` of strand s, which has come to `state`. */
  static __device__ void search(const Image& image, const Shared& shared, Scratch& scratch, int s, int each, uint32_t n,
                                uint32_t& state) {
    const Strand strand = scratch.strands[s];
    const uint32_t from = max(strand.first, n * kLine), to = min(strand.last, (n + 1) * kLine);
    if (from >= to || scratch.next[s / each] != kClean) return;
    const auto* const next = image.at<uint16_t>(image.next);
    const uint32_t classes = image.classes, accept = image.accept;
    const uint32_t* const words = scratch.bytes[s];
    uint32_t at = from;
    while (at < to) {
      const uint32_t word = words[(at - n * kLine) / 4];
#pragma unroll
      for (uint32_t b = 0; b < 4; ++b) {
        if (b < at % 4 || at - at % 4 + b >= to) continue;
        state = next[state * classes + shared.class_of[word >> 8 * b & 255]];
        if (state >= accept) {
          scratch.next[s / each] = kCandidate;
          return;
        }
      }
      at = (at & ~3u) + 4;
    }
  }

  /** Tells the host of the candidates, which go on as the others do, and says where all packets go. The last thing that
   *  is done: what is needed after a call costs registers. */
  static __device__ __noinline__ void tell(const gpu::Block block, gpu::Tile& tile, Scratch& scratch,
                                           Candidates& candidates) {
    for (int k = 0; k < tile.count(); ++k) {
      const int i = tile.packet(k);
      const bool candidate = scratch.next[k] == kCandidate;
      if (block.thread == 0) tile.next(i, candidate ? uint32_t{kClean} : scratch.next[k]);
      if (!candidate) continue;
      const uint32_t bytes = tile.length(i), words = (bytes + 3) / 4;
      if (block.thread == 0) scratch.first = gpu::reserve(candidates.words, words);
      block.sync();
      const unsigned long long first = scratch.first;
      for (auto w = static_cast<uint32_t>(block.thread); w < words; w += static_cast<uint32_t>(block.threads))
        gpu::put(candidates.words, first + w, word_at(tile.frame(i), w * 4, bytes));
      block.sync();
      if (block.thread != 0) continue;
      // Its bytes are there for whoever sees the event.
      cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
      gpu::push(candidates.told, {first, bytes, static_cast<uint16_t>(tile.column(Column::l3, i)),
                                  static_cast<uint16_t>(min(tile.column(Column::l4, i), bytes))});
    }
  }

  /** Four bytes of a packet from `at` on, in memory order; 0 where it has ended. */
  static __device__ uint32_t word_at(const uint8_t* frame, uint32_t at, uint32_t bytes) {
    if (at + 4 <= bytes) return gpu::load_u32(frame + at);
    uint32_t word = 0;
    for (uint32_t b = 0; at + b < bytes; ++b) word |= uint32_t{frame[at + b]} << 8 * b;
    return word;
  }
};

}  // namespace heddle::nids

HEDDLE_GPU_FUNCTION(NIDS, heddle::nids::SearchTile);
