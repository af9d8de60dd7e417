#pragma once

#include <cstdint>

#include "core/macros.h"

namespace heddle::gpu {

/** Searches the best limit of a Gate while packets flow. The best one differs by machine and by packet length (on an
 *  H100 2 MB for 512 bytes, 3 for 1460), so it moves by an eighth after every interval, and turns round when that
 *  interval took longer than the one before. If no tile had to wait, the limit is higher than all that is under way,
 *  and comes down. */
struct LimitSearch {
  static constexpr uint64_t kMin = 512 << 10, kMax = 16 << 20, kStep = 8;

  uint64_t limit = 3 << 20;  ///< bytes
  uint64_t began_ns = 0;     ///< when this interval did
  uint64_t took_ns = 0;      ///< the one before
  bool up = true;            ///< the last step's direction
  bool fixed = false;        ///< the limit stays as it is

  /** An interval, in which as many bytes were gathered as in every other one, ends at `now_ns`. */
  HEDDLE_HD void end_interval(uint64_t now_ns, bool waited) {
    const uint64_t took = now_ns - began_ns;
    if (!fixed) {
      up = waited && (took > took_ns ? !up : up);
      const uint64_t step = limit / kStep, next = up ? limit + step : limit - step;
      limit = next < kMin ? kMin : next > kMax ? kMax : next;
    }
    began_ns = now_ns, took_ns = took;
  }
};

/** Limits the bytes of gathers under way on a device. Too many reads of host memory in flight hold up every other
 *  access to memory of the GPU (table look-ups from 3 to over 100 us), so tiles queue here: by bytes, not by tiles,
 *  since short packets do not need it. Device memory. */
struct Gate {
  static constexpr int kIntervalBits = 26;  ///< 64 MB, which PCIe 5 x16 moves in 2 ms

  unsigned long long taken = 0, done = 0;          ///< bytes since the start of the device
  unsigned long long limit = LimitSearch{}.limit;  ///< bytes under way at most: the search's
  uint32_t waited = 0;                             ///< whether a tile had to in this interval
  uint32_t searching = 0;                          ///< whether a thread has `search`
  LimitSearch search;
};

}  // namespace heddle::gpu
