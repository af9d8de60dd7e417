#pragma once

#include <cuda_runtime.h>

#include "core/columns.h"
#include "gpu/slot.h"

namespace heddle::gpu {

/** The threads that work on one tile together. Today a warp; functions use `threads` and sync(), never a constant. */
struct Block {
  int thread, threads;
  /** Waits for all threads of the block; what they wrote before is visible to all of them after. */
  __device__ void sync() const { __syncwarp(); }
};

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
  /** Moves its end, altogether by -128 to 127 bytes in a segment; only where has_room() if it grows. */
  __device__ void set_length(int i, uint32_t bytes) { length_[i] = bytes; }
  /** Whether its buffer has room for all that the functions of the segment may append (Element::appends). */
  __device__ bool has_room(int i) const { return has_room_[i]; }
  __device__ uint32_t& column(Column which, int i) { return column_[static_cast<int>(which)][i]; }
  __device__ void next(int i, uint32_t port) { next_[i] = static_cast<uint16_t>(port); }  ///< 0 unless set
  __device__ void drop(int i, uint32_t reason) { next_[i] = static_cast<uint16_t>(kDrop | reason); }

 private:
  friend class TileRunner;
  uint8_t* frame_[kTile];
  uint32_t length_[kTile];
  bool has_room_[kTile];
  uint32_t column_[kColumns][kTile];
  uint16_t next_[kTile];
  uint8_t list_[kTile];
  int count_;

 public:
  uint32_t scratch[kTile + 1];  ///< for collectives (bytes.cuh)
};

}  // namespace heddle::gpu
