#pragma once

#include <cstdint>
#include <cstring>

namespace heddle::bench {

/** What a frame of the generator carries in its last bytes, so that its receiver knows it again. In the order of this
 *  machine's bytes: only this machine reads it. Frames of 64 bytes (60 without FCS) have room for just this behind
 *  their UDP header. */
struct [[gnu::packed]] Signature {
  uint16_t tag;       ///< kSignatureTag, and of which run the frame is
  uint32_t sequence;  ///< of the packet within its flow, from 0, wraps
  uint32_t flow;
  uint64_t due;  ///< time stamp counter when it was due to leave; 0 without stamps
};
constexpr uint32_t kSignatureBytes = sizeof(Signature);
static_assert(kSignatureBytes == 18);

constexpr uint16_t kSignatureTag = 0xa500;  ///< the upper byte
constexpr uint16_t kRunMask = 0x00ff;       ///< the lower byte: the run's number

/** Where the signature of a frame of `length` bytes (>= 18, without FCS) begins: at an even offset, so that checksums
 *  see its words whole. */
constexpr uint32_t signature_at(uint32_t length) { return (length & ~1u) - kSignatureBytes; }

/** How many bytes a router may put behind a signature before it is not found any more. */
constexpr uint32_t kSearchedBytes = 64;

}  // namespace heddle::bench
