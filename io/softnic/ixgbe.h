#pragma once

#include <cstdint>

#include "core/macros.h"

/** Rings of Intel's 82599 in the advanced format (82599 datasheet, Intel 331520, sections 7.1.6 and 7.2.3.2.4), one
 *  buffer a frame. A ring has a head, which only the NIC knows here, and a tail, a register that software writes: the
 *  NIC owns the descriptors from the head up to, and without, the tail; both are indices into the ring. So of `size`
 *  descriptors it has size - 1 at most. What it is done with it writes back, with the bit DD. */
namespace heddle::ixgbe {

/** 16 bytes, little-endian.
 *
 *                 receive, read         receive, write-back           transmit, read              transmit, write-back
 *      word 0, 1  address of a buffer   type, hash                    address of the frame        -
 *      word 2     0 (header buffer)     status (DD, EOP) and errors   command | bytes in buffer   -
 *      word 3     0                     bytes | VLAN tag << 16        bytes of the frame << 14    DD */
struct alignas(16) Descriptor {
  uint32_t word[4];
};

constexpr uint32_t kDone = 1;             ///< DD, of word 2 (receive) or 3 (transmit)
constexpr uint32_t kLast = 2;             ///< EOP, word 2: the frame ends in this buffer
constexpr uint32_t kErrors = 0x3B000000;  ///< word 2: CRC, length, coding, oversize or undersize error
constexpr uint32_t kData = 0x00300000;    ///< DTYP, word 2 of what follows: a data descriptor
constexpr uint32_t kSendLast = 0x01000000, kInsertFcs = 0x02000000, kReport = 0x08000000,
                   kAdvanced = 0x20000000;  ///< DCMD: EOP, IFCS, RS, DEXT
constexpr int kFrameBytesAt = 14;           ///< PAYLEN
constexpr uint32_t kLengthMask = 0xffff;    ///< DTALEN, and PKT_LEN of word 3

/** Receive: an empty buffer. */
HEDDLE_HD constexpr Descriptor empty(uint64_t address) {
  return {{static_cast<uint32_t>(address), static_cast<uint32_t>(address >> 32), 0, 0}};
}
/** The NIC has put `bytes` into it. */
HEDDLE_HD constexpr Descriptor filled(uint32_t bytes, bool last) { return {{0, 0, kDone | (last ? kLast : 0), bytes}}; }
/** It could not. */
HEDDLE_HD constexpr Descriptor failed(bool last) { return {{0, 0, kDone | kErrors | (last ? kLast : 0), 0}}; }
HEDDLE_HD constexpr uint32_t filled_bytes(const Descriptor& of) { return of.word[3] & kLengthMask; }

/** Transmit: a frame in one buffer, of which the NIC is to report that it has fetched it. */
HEDDLE_HD constexpr Descriptor to_send(uint64_t address, uint32_t bytes) {
  return {{static_cast<uint32_t>(address), static_cast<uint32_t>(address >> 32),
           kData | kSendLast | kInsertFcs | kReport | kAdvanced | (bytes & kLengthMask), bytes << kFrameBytesAt}};
}
/** Bytes of the frame; 0: not one that to_send() makes. */
HEDDLE_HD constexpr uint32_t bytes_to_send(const Descriptor& of) {
  constexpr uint32_t kCommand = kData | kSendLast | kInsertFcs | kReport | kAdvanced;
  const uint32_t bytes = of.word[2] & kLengthMask;
  return (of.word[2] & ~kLengthMask) == kCommand && of.word[3] == bytes << kFrameBytesAt ? bytes : 0;
}
/** The NIC has fetched it: its buffer is free. */
HEDDLE_HD constexpr Descriptor fetched() { return {{0, 0, 0, kDone}}; }

HEDDLE_HD constexpr uint64_t address(const Descriptor& of) { return of.word[0] | uint64_t{of.word[1]} << 32; }

}  // namespace heddle::ixgbe
