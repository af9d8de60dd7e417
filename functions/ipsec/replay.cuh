#pragma once

#include <cuda/atomic>

#include "functions/ipsec/replay_rule.h"
#include "gpu/bytes.cuh"
#include "gpu/registry.cuh"

namespace heddle::ipsec {

/** IPsecReplay between GPU ports: a lane a packet. The tile's packets are judged as if one came after the other. Ring
 *  pairs share windows (RFC 6479), so each block of a window changes by compare-and-swap, once for all packets of the
 *  tile whose numbers are in it. */
struct ReplayTile {
  using Table = ReplayImage;
  using State = ReplayWord;  // the first
  static constexpr bool kInTurn = true;

  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const ReplayImage& image,
                             ReplayWord& first) const {
    const int k = block.thread, i = k < tile.count() ? tile.packet(k) : 0;
    const Packet packet = k < tile.count() ? packet_of(tile, i, image, first) : Packet{};
    const unsigned fresh = judge(tile, k, packet);
    if (k >= tile.count()) return;
    if (packet.words != nullptr && (fresh >> k & 1) == 0)
      tile.drop(i, kCameBefore);
    else if (!is_associations(tile, i, image))
      tile.drop(i, kOthers);
  }

 private:
  using Word = unsigned long long;
  /** What is judged of a packet; of one that is not, `words` is null. */
  struct Packet {
    Word* words;  // of its window
    uint32_t window, block_mask;
    Word number;  // from `seen` on; 0: it counts as having come
    __device__ Word* block() const { return words + 1 + (place() & block_mask); }
    __device__ uint32_t place() const { return static_cast<uint32_t>(number / kBlockBits); }  // its low half
    __device__ uint32_t bit() const { return 1u << number % kBlockBits; }
  };
  static constexpr uint32_t kBlockBits = 32;

  static __device__ Packet packet_of(gpu::Tile& tile, int i, const ReplayImage& image, ReplayWord& first) {
    const ReplayImage::Window window = image.windows()[tile.column(Column::sa, i)];
    if (window.size == 0) return {};
    const Word number =
        image.has_extended != 0 ? tile.wide_column(Column::esp_iv, i) : Word{tile.column(Column::esp_sequence, i)};
    return {&(&first)[window.words_at].word, window.size, window.block_mask,
            number > window.seen ? number - window.seen : 0};
  }

  /** The lanes whose packets' numbers come for the first time, and not too late. */
  static __device__ __noinline__ unsigned judge(gpu::Tile& tile, int k, const Packet packet) {
    const bool judged = packet.words != nullptr;
    const unsigned before = (1u << k) - 1;
    const auto window = reinterpret_cast<Word>(packet.words);
    // What those before it in the tile will have raised the window's top to; and whether one of them has its number.
    const unsigned siblings = __match_any_sync(~0u, window) & before;
    const bool again = (siblings & __match_any_sync(~0u, packet.number)) != 0;
    Word raised = 0;
    for (int lane = 0; lane < gpu::kLanes - 1; ++lane) {
      const Word other = __shfl_sync(~0u, packet.number, lane);
      if ((siblings >> lane & 1) != 0 && other > raised) raised = other;
    }
    tile.turn().take();
    const Word top = judged ? Shared(*packet.words).load(cuda::memory_order_relaxed) : 0;
    const bool fits =
        judged && packet.number != 0 && !again && packet.number + packet.window > (top > raised ? top : raised);
    const unsigned fresh = mark(k, packet, fits);
    if ((fresh >> k & 1) != 0 && packet.number > top) atomicMax(packet.words, packet.number);
    tile.turn().pass();
    return fresh;
  }

  /** Marks the numbers of the lanes that `fits` says, and returns those that had not come. */
  static __device__ unsigned mark(int k, const Packet& packet, bool fits) {
    unsigned fresh = 0;
    for (unsigned rest = __ballot_sync(~0u, fits); rest != 0;) {
      const bool waits = (rest >> k & 1) != 0;
      const unsigned sharing = __match_any_sync(~0u, waits ? reinterpret_cast<Word>(packet.block()) : Word{0});
      // From the first on that wants another block where one before it has its own they come the next time.
      const uint32_t place = __shfl_sync(~0u, packet.place(), __ffs(static_cast<int>(sharing)) - 1);
      const unsigned later = __ballot_sync(~0u, waits && packet.place() != place);
      const unsigned now = rest & (later == 0 ? ~0u : (later & (0u - later)) - 1);
      rest &= ~now;
      bool is_fresh = false;
      if ((now >> k & 1) != 0) {
        const unsigned group = sharing & now;
        const uint32_t bits = __reduce_or_sync(group, packet.bit());
        uint32_t had = 0;
        if ((group & ((1u << k) - 1)) == 0) had = mark(packet.block(), place, bits);
        had = __shfl_sync(group, had, __ffs(static_cast<int>(group)) - 1);
        is_fresh = (had & packet.bit()) == 0;
      }
      fresh |= __ballot_sync(~0u, is_fresh);
    }
    return fresh;
  }

  /** Sets `bits` of the block at `place`; returns those that were set, or all if a later block is there. */
  static __device__ uint32_t mark(Word* block, uint32_t place, uint32_t bits) {
    for (Word now = Shared(*block).load(cuda::memory_order_relaxed);;) {
      const auto there = static_cast<uint32_t>(now >> 32);
      if (static_cast<int32_t>(there - place) > 0) return ~0u;
      const uint32_t had = there == place ? static_cast<uint32_t>(now) : 0;
      const Word before = atomicCAS(block, now, Word{place} << 32 | had | bits);
      if (before == now) return had;
      now = before;
    }
  }

  static __device__ __noinline__ bool is_associations(gpu::Tile& tile, int i, const ReplayImage& image) {
    if (image.has_selectors == 0) return true;
    const uint8_t* const packet = tile.frame(i) + image.link_bytes;
    const auto load = [packet](uint32_t at) { return gpu::load_u32(packet + at); };
    return image.selectors()[tile.column(Column::sa, i)].has(ends_from(load, tile.length(i) - image.link_bytes));
  }

  using Shared = cuda::atomic_ref<Word, cuda::thread_scope_device>;
};

}  // namespace heddle::ipsec
