#pragma once

#include <cstdint>

#include "io/softnic/ixgbe.h"

namespace heddle::softnic {

/** Host memory, reached by the GPU, that stands for the NIC's own: the bytes of one descriptor's buffer. */
struct Piece {
  uint8_t* at;
  uint32_t bytes;  ///< received: to be put into the buffer. Sent: the room; then bytes of the frame, 0: none that fits
  uint32_t last;   ///< received: whether the frame ends here
};

/** Memory that the buffers of a ring lie in: what descriptors call `bus` is at `base`. Its DMA engine touches nothing
 *  else, as if behind an IOMMU. */
struct Window {
  uint64_t bus;
  uint8_t* base;
  uint64_t bytes;
};

/** What a DMA engine does at a time: descriptors [first, first + count) of a ring of `size`, which the NIC owns, are
 *  read, the bytes moved, and the descriptors written back, each after its bytes. */
struct Transfer {
  bool receives;            ///< from pieces to buffers; else from buffers to pieces
  ixgbe::Descriptor* ring;  ///< device memory
  uint32_t size;            ///< a power of two
  uint32_t first, count;
  Window buffers;
  Piece* pieces;      ///< [count], host memory that the GPU reaches
  uint32_t* refused;  ///< the same: adds one for each empty buffer that does not lie in the window
  uint32_t* done;     ///< the same: becomes `stamp` when all is done
  uint32_t stamp;
};

/** The DMA engine of one ring. One thread uses it. */
class Dma {
 public:
  virtual ~Dma() = default;
  /** Begins, behind what has been begun before. Throws Error. */
  virtual void start(const Transfer& transfer) = 0;
  /** Whether what has been begun will never be done. */
  virtual bool failed() = 0;
};

}  // namespace heddle::softnic
