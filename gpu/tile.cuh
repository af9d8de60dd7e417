#pragma once

#include <cuda_runtime.h>

#include "core/columns.h"
#include "gpu/block.cuh"
#include "gpu/program.h"
#include "gpu/turn.cuh"

namespace heddle::gpu {

/** The packets that one block works on, in shared memory; the same columns as a batch. A function sees the packets of
 *  the tile that are its own as a dense list (`mine`), so that packets which took another branch leave no idle threads.
 *
 *  Every thread may use every packet's entry. What one thread writes, others see after block.sync(). */
class Tile {
 public:
  /** Indices of this function's packets, dealt out to the threads of the block: for (int i : tile.mine(block)). */
  class Mine {
   public:
    __device__ Mine(const Tile& tile, const Block& block) : tile_(tile), first_(block.thread), step_(block.threads) {}
    struct Iterator {
      const uint8_t* list;
      int k, step, end;
      __device__ int operator*() const { return list[k]; }
      __device__ Iterator& operator++() {
        k += step;
        return *this;
      }
      __device__ bool operator!=(int) const { return k < end; }
    };
    __device__ Iterator begin() const { return {tile_.list_, first_, step_, tile_.count_}; }
    __device__ int end() const { return 0; }

   private:
    const Tile& tile_;
    int first_, step_;
  };
  __device__ Mine mine(const Block& block) const { return Mine(*this, block); }
  __device__ int count() const { return count_; }          ///< packets of this function
  __device__ int packet(int k) const { return list_[k]; }  ///< index of the k-th of them

  __device__ uint8_t* frame(int i) const { return frame_[i]; }    ///< first byte of packet i, in host or GPU memory
  __device__ uint32_t length(int i) const { return length_[i]; }  ///< its bytes

  /** Moves the end of packet i. Growing needs no look at the buffer: where packets enter a segment they have room for
   *  all that its functions declare (Element::appends, prepends). */
  __device__ void set_length(int i, uint32_t bytes) { length_[i] = bytes; }
  /** Moves its start by `bytes`: > 0 strips them, < 0 puts some before. The header columns move along. */
  __device__ void move_head(int i, int bytes) {
    frame_[i] += bytes;
    length_[i] -= static_cast<uint32_t>(bytes);
    if (has(Column::l3)) column(Column::l3, i) -= static_cast<uint32_t>(bytes);
    if (has(Column::l4)) column(Column::l4, i) -= static_cast<uint32_t>(bytes);
  }

  /** A column of 32 bits of packet i; one that the function declares. */
  __device__ uint32_t& column(Column which, int i) { return columns_[place(which) * kSlotPackets + i]; }
  /** The same of 64 bits. */
  __device__ uint64_t& wide_column(Column which, int i) {
    return reinterpret_cast<uint64_t*>(columns_ + place(which) * kSlotPackets)[i];
  }

  __device__ void next(int i, uint32_t port) { next_[i] = static_cast<uint16_t>(port); }  ///< 0 unless set
  __device__ void drop(int i, uint32_t reason) { next_[i] = static_cast<uint16_t>(kDrop | reason); }

  /** Of a function with kInTurn: it calls take() and then pass(), once each, and between them is alone with its ring
   *  pair. */
  __device__ Turn& turn() { return turn_; }

 private:
  template <int kWarps, int kMaxWarps>
  friend class TileRunner;
  __device__ int place(Column which) const { return program_->place[static_cast<int>(which)]; }
  __device__ bool has(Column which) const { return place(which) != kNoColumn; }

  uint8_t* frame_[kSlotPackets];
  uint64_t word_[kSlotPackets];  // of the slot
  uint32_t* slot_columns_;       // of the slot
  uint32_t length_[kSlotPackets];
  uint16_t next_[kSlotPackets];
  uint8_t list_[kSlotPackets];
  int count_, node_;
  Turn turn_;               // of rings
  bool landed_;             // packets come back to where the slot says
  const Program* program_;  // in shared memory
  uint32_t* columns_;       // in shared memory, [word][kSlotPackets]
};

}  // namespace heddle::gpu
