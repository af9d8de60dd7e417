#include "functions/ndn/rule.h"
#include "gpu/registry.cuh"

namespace heddle::ndn {

/** A packet's bytes, read by the aligned words of 8 that they lie in. */
struct DeviceBytes {
  const uint8_t* packet;
  __device__ uint64_t bytes(uint32_t at, uint32_t n) const {
    if (n == 0) return 0;
    const auto address = reinterpret_cast<uintptr_t>(packet + at);
    const auto* words = reinterpret_cast<const unsigned long long*>(address & ~uintptr_t{7});
    const auto skipped = static_cast<uint32_t>(address & 7);
    uint64_t word = words[0] >> skipped * 8;
    if (skipped + n > 8) word |= words[1] << (64 - skipped * 8);
    return n == 8 ? word : word & ((uint64_t{1} << n * 8) - 1);
  }
};

// One thread a packet. A search is on its way while the next component is read and hashed.
struct LookupTile {
  using Table = cuckoo::Image;
  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const cuckoo::Image& image) const {
    for (int i : tile.mine(block)) tile.next(i, next_of({tile.frame(i)}, tile.length(i), image));
  }

 private:
  static __device__ uint32_t next_of(const DeviceBytes& bytes, uint32_t length, const cuckoo::Image& image) {
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
            if (const uint64_t word = cuckoo::lookup(image, hash, key); word != 0) longest = word;
          });
    });
    if (!well_formed) return uint32_t{kDrop} | kMalformed;
    if (kind == Kind::data) return image.constants[1];
    return longest == 0 ? uint32_t{kDrop} | kNoRoute : static_cast<uint32_t>(longest >> cuckoo::kValueShift) - 1;
  }
};

}  // namespace heddle::ndn

HEDDLE_GPU_FUNCTION(NDNLookup, heddle::ndn::LookupTile);
