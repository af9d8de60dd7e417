#pragma once

#include <cstddef>
#include <cstdint>

#include "core/macros.h"

namespace heddle::memif {

/** What client and server share, as memif 2.0 has it (DPDK, drivers/net/memif/memif.h; libmemif, memif.h).
 *  Little-endian. Indices are free-running 16-bit counters; descriptor i lies at descriptors()[i % size], and sizes are
 *  powers of two.
 *
 *                       client to server              server to client
 *      the sender moves     head (filled up to)           tail (filled up to)
 *      the receiver moves   tail (read up to)             head (free buffers up to)
 *
 *  The client makes the memory and chooses the buffer behind each descriptor; the server reads which one it is. */
struct Descriptor {
  uint16_t flags;   ///< kNext
  uint16_t region;  ///< where the buffer lies
  uint32_t length;  ///< filled: bytes of the packet; free: bytes of the buffer
  uint32_t offset;  ///< of its first byte in the region
  uint32_t metadata;
};
constexpr uint16_t kNext = 1;  ///< the packet goes on in the next descriptor

struct Ring {
  uint32_t cookie;  ///< kCookie
  uint16_t flags;   ///< kPolls
  uint16_t head;
  std::byte gap[56];
  uint16_t tail;
  std::byte other_gap[62];
  HEDDLE_HD Descriptor* descriptors() { return reinterpret_cast<Descriptor*>(this + 1); }
};
constexpr uint32_t kCookie = 0x3E31F20;
constexpr uint16_t kPolls = 1;  ///< the receiver wants no interrupts (the ring's eventfd)
static_assert(sizeof(Descriptor) == 16 && offsetof(Ring, head) == 6 && offsetof(Ring, tail) == 64 &&
              sizeof(Ring) == 128);

constexpr int kMaxLog2Size = 14;  ///< of a ring
constexpr size_t ring_bytes(int log2_size) { return sizeof(Ring) + (sizeof(Descriptor) << log2_size); }

}  // namespace heddle::memif
