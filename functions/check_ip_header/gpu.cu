#include "functions/check_ip_header/rule.h"
#include "gpu/bytes.cuh"
#include "gpu/registry.cuh"

namespace heddle::check_ip {

/** A thread a packet. */
struct CheckTile {
  using Table = Image;
  using State = Counts;

  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Image& image, Counts& counts) const {
    uint32_t valid = 0;
    for (int i : tile.mine(block)) {
      const uint32_t bytes = tile.length(i), room = bytes < image.offset ? 0 : bytes - image.offset;
      const Header header = room < kMinBytes ? Header{0, 0, kShort} : check(image, tile.frame(i) + image.offset, room);
      const bool good = header.reason == kValid;
      tile.column(Column::dst, i) = good ? header.destination : 0;
      tile.column(Column::l3, i) = good ? image.offset : 0;
      tile.column(Column::l4, i) = good ? image.offset + header_bytes(header.first) : 0;
      if (good) {
        tile.set_length(i, image.offset + total_bytes(header.first));  // not more than there is
        ++valid;
      } else {
        gpu::count_up(counts.bad[header.reason], 1);
        if (image.second_output != 0)
          tile.next(i, 1);
        else
          tile.drop(i, static_cast<uint32_t>(header.reason));
      }
    }
    valid = __reduce_add_sync(~0u, valid);
    if (valid != 0 && block.thread % gpu::kLanes == 0) gpu::count_up(counts.valid, valid);
  }

 private:
  struct Header {
    uint32_t first, destination;
    Reason reason;
  };

  // Not inline: kernels of GPU ports have no register to spare.
  static __device__ __noinline__ Header check(const Image& image, const uint8_t* at, uint32_t room) {
    // Its first 20 bytes, by aligned words of 8, which are fetched together.
    const auto address = reinterpret_cast<uintptr_t>(at);
    const auto* words = reinterpret_cast<const unsigned long long*>(address & ~uintptr_t{7});
    const uint32_t before = static_cast<uint32_t>(address & 7);
    const unsigned long long word[4] = {words[0], words[1], words[2], before > 4 ? words[3] : 0};
    const auto part = [&](int k) {  // four bytes at 4 * k of the words
      return static_cast<uint32_t>(word[k / 2] >> (k % 2 * 32));
    };
    const auto field = [&](int k) {  // four bytes at 4 * k of the header
      const uint32_t low = before < 4 ? part(k) : part(k + 1), high = before < 4 ? part(k + 1) : part(k + 2);
      return __funnelshift_r(low, high, 8 * (before & 3));
    };
    Header header{field(0), field(4), kValid};
    header.reason = check_lengths(header.first, room);
    if (header.reason != kValid) return header;
    const uint32_t source = field(3);
    if (image.checksum != 0) {
      uint32_t sum = add(add(0, header.first), field(1));
      sum = add(add(add(sum, field(2)), source), header.destination);
      for (uint32_t option = kMinBytes; option < header_bytes(header.first); option += 4)
        sum = add(sum, gpu::load_u32(at + option));
      if (!is_sum_of_valid(sum)) header.reason = kBadChecksum;
    }
    if (header.reason == kValid && image.bad != 0 && among(image.addresses, image.bad, source) &&
        !among(image.addresses + image.bad, image.good, header.destination))
      header.reason = kBadSource;
    return header;
  }

  static __device__ bool among(const uint32_t* addresses, uint32_t count, uint32_t address) {
    for (uint32_t i = 0; i < count; ++i)
      if (addresses[i] == address) return true;
    return false;
  }
};

}  // namespace heddle::check_ip

HEDDLE_GPU_FUNCTION(CheckIPHeader, heddle::check_ip::CheckTile);
