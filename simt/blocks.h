#pragma once

#include <cstdint>

/** The blocks that run, for tests. */
namespace heddle::simt {

/** Blocks of all kernels that run now. */
unsigned running_blocks();

/** While one lives, a warp is slow: from where it gives way to others next (at warp operations, barriers, waits) it
 *  does not go on. It is that warp of block `block` of every kernel with `threads` threads a block. One at a time. */
class HeldWarp {
 public:
  HeldWarp(unsigned block, unsigned warp, unsigned threads);
  ~HeldWarp();
  HeldWarp(const HeldWarp&) = delete;
  HeldWarp& operator=(const HeldWarp&) = delete;
};

}  // namespace heddle::simt
