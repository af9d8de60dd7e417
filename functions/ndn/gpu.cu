#include "functions/ndn/rule.h"
#include "gpu/registry.cuh"

namespace heddle::ndn {

/** The beginnings of a tile's packets, which names mostly lie in, fetched over PCIe once and together: parsed in place,
 *  each step of each thread would be a read of its own, that the next step waits for. */
struct Beginnings {
  static constexpr int kWords = 16;
  unsigned long long words[gpu::kSlotPackets][kWords + 1];  // of the k-th packet; so wide that neighbours share no bank
};

/** A packet's bytes, read by the aligned words of 8 that they lie in: the first kWords from `first` on are `words`. */
struct DeviceBytes {
  const uint8_t* packet;
  uintptr_t first;
  const unsigned long long* words;

  __device__ uint64_t bytes(uint32_t at, uint32_t n) const {
    if (n == 0) return 0;
    const auto from = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(packet + at) - first);
    const uint32_t skipped = from % 8;
    uint64_t word = word_at(from / 8) >> skipped * 8;
    if (skipped + n > 8) word |= word_at(from / 8 + 1) << (64 - skipped * 8);
    return n == 8 ? word : word & ((uint64_t{1} << n * 8) - 1);
  }

 private:
  __device__ uint64_t word_at(uint32_t number) const {
    return number < Beginnings::kWords ? words[number] : reinterpret_cast<const unsigned long long*>(first)[number];
  }
};

// One thread a packet, when the block has fetched the packets. Both buckets of a name are on their way at once.
struct LookupTile {
  static constexpr int kWarps = 4;  // to fetch; kernels of one warp have no register to spare
  using Table = cuckoo::Image;
  using Scratch = Beginnings;

  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const cuckoo::Image& image,
                             Beginnings& beginnings) const {
    fetch(block, tile, image.constants[0], beginnings);
    block.sync();
    for (int k = block.thread; k < tile.count(); k += block.threads) {
      const int i = tile.packet(k);
      const DeviceBytes bytes{tile.frame(i), first_of(tile, i, image.constants[0]), beginnings.words[k]};
      tile.next(i, next_of(bytes, tile.length(i), image));
    }
  }

 private:
  /** The aligned 16 bytes that NDN's part of packet i begins in. */
  static __device__ uintptr_t first_of(const gpu::Tile& tile, int i, uint32_t offset) {
    return reinterpret_cast<uintptr_t>(tile.frame(i) + offset) & ~uintptr_t{15};
  }

  /** Eight threads a packet, 16 bytes each; a thread has all of its reads on their way before it waits for one. */
  static __device__ __noinline__ void fetch(gpu::Block block, const gpu::Tile& tile, uint32_t offset,
                                            Beginnings& beginnings) {
    constexpr int kThreads = Beginnings::kWords / 2, kAhead = gpu::kSlotPackets * kThreads / gpu::kLanes;
    const int rank = block.thread % kThreads, step = block.threads / kThreads;
    ulonglong2 piece[kAhead];
#pragma unroll
    for (int turn = 0; turn < kAhead; ++turn) {
      const int k = block.thread / kThreads + turn * step;
      piece[turn] = {0, 0};
      if (k >= tile.count()) continue;
      const int i = tile.packet(k);
      const uintptr_t at = first_of(tile, i, offset) + 16 * static_cast<uint32_t>(rank),
                      end = reinterpret_cast<uintptr_t>(tile.frame(i)) + tile.length(i);
      if (at < end) piece[turn] = *reinterpret_cast<const ulonglong2*>(at);
    }
#pragma unroll
    for (int turn = 0; turn < kAhead; ++turn) {
      const int k = block.thread / kThreads + turn * step;
      if (k >= tile.count()) continue;
      beginnings.words[k][2 * rank] = piece[turn].x;
      beginnings.words[k][2 * rank + 1] = piece[turn].y;
    }
  }

  /** As cuckoo::lookup(), which looks at the second bucket when it has seen the first: but most beginnings of a name
   *  are in neither. */
  static __device__ uint64_t find(const cuckoo::Image& image, uint32_t hash, uint64_t key) {
    const uint32_t first = cuckoo::first_bucket(image, hash);
    const uint64_t in_first = cuckoo::word_in(&cuckoo::bucket_of(image, first), key);
    const uint64_t in_second = cuckoo::word_in(&cuckoo::bucket_of(image, cuckoo::other_bucket(image, first, key)), key);
    return in_first != 0 ? in_first : in_second;
  }

  static __device__ __noinline__ uint32_t next_of(const DeviceBytes& bytes, uint32_t length,
                                                  const cuckoo::Image& image) {
    Tlv name;
    const Kind kind = find_name(bytes, image.constants[0], length, name);
    if (kind == Kind::fragment) return uint32_t{kDrop} | kIsFragment;
    if (kind == Kind::malformed) return uint32_t{kDrop} | kMalformed;
    uint64_t longest = 0;
    bool well_formed = false;
    cuckoo::search_unmoved(image, [&] {
      longest = 0;
      well_formed =
          visit_prefixes(bytes, name.value, name.end, image.seed, image.owner, [&](int, uint64_t key, uint32_t hash) {
            if (const uint64_t word = find(image, hash, key); word != 0) longest = word;
          });
    });
    if (!well_formed) return uint32_t{kDrop} | kMalformed;
    if (kind == Kind::data) return image.constants[1];
    return longest == 0 ? uint32_t{kDrop} | kNoRoute : static_cast<uint32_t>(longest >> cuckoo::kValueShift) - 1;
  }
};

}  // namespace heddle::ndn

HEDDLE_GPU_FUNCTION(NDNLookup, heddle::ndn::LookupTile);
