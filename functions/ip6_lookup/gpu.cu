#include "functions/ip6_lookup/rule.h"
#include "gpu/registry.cuh"

namespace heddle::ip6_lookup {

/** 8 bytes of a number in network byte order. */
__device__ inline uint64_t swapped(uint64_t word) {
  const uint32_t high = __byte_perm(static_cast<uint32_t>(word), 0, 0x0123);
  return uint64_t{high} << 32 | __byte_perm(static_cast<uint32_t>(word >> 32), 0, 0x0123);
}

/** The 16 bytes of an address at `at`, by the two or three aligned words that they lie in: all reads are on their way
 *  at once. */
__device__ inline void load_address(const uint8_t* at, uint64_t& high, uint64_t& low) {
  const auto address = reinterpret_cast<uintptr_t>(at);
  const auto* words = reinterpret_cast<const unsigned long long*>(address & ~uintptr_t{7});
  const auto shift = static_cast<uint32_t>(address & 7) * 8;
  const uint64_t first = words[0], second = words[1], third = shift != 0 ? words[2] : 0;
  high = swapped(shift != 0 ? first >> shift | second << (64 - shift) : first);
  low = swapped(shift != 0 ? second >> shift | third << (64 - shift) : second);
}

// One thread a packet; the table lies in GPU memory.
struct LookupTile {
  using Table = Image;
  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Image& image) const {
    constexpr uint32_t kHeaderBytes = 40, kDestination = 24, kNoRoute = 0, kNoHeader = 1;
    for (int i : tile.mine(block)) {
      const uint32_t bytes = tile.length(i), at = min(tile.column(Column::l3, i), bytes);
      if (bytes - at < kHeaderBytes) {
        tile.drop(i, kNoHeader);
        continue;
      }
      uint64_t high, low;
      load_address(tile.frame(i) + at + kDestination, high, low);
      const uint16_t found = lookup(image, high, low);
      if (found == 0) {
        tile.drop(i, kNoRoute);
        continue;
      }
      const GatewayHop hop = hop_of(image, found);
      tile.next(i, hop.port);
      tile.column(Column::dst, i) = hop.gateway;
    }
  }
};

}  // namespace heddle::ip6_lookup

HEDDLE_GPU_FUNCTION(LookupIP6Route, heddle::ip6_lookup::LookupTile);
