#pragma once

#include <cstdint>

#include "core/macros.h"

namespace heddle::gpu {

/** Searches the best limit of a Gate while packets flow. The best one differs by machine and by packet length (on an
 *  H100 2 MB for 512 bytes, 3 for 1460), so while it holds tiles up it moves by an eighth after every interval, and
 *  turns round when that interval took longer than the one before. At less load an interval takes as long as its
 *  packets take to come, which tells nothing of the limit: it stays as it is, and, if no tile had to wait, comes down
 *  to the first one at most, for a lower one would only have tiles wait. */
struct LimitSearch {
  static constexpr uint64_t kLeast = 512 << 10, kFirst = 3 << 20, kMost = 16 << 20, kStep = 8;
  static constexpr int kIntervalBits = 26;
  static constexpr uint64_t kInterval = 1 << kIntervalBits;  ///< 64 MB, which PCIe 5 x16 moves in 2 ms

  uint64_t limit = kFirst;  ///< bytes
  uint64_t began_ns = 0;    ///< when this interval did
  uint64_t took_ns = 0;     ///< the one before
  bool up = true;           ///< the last step's direction
  bool fixed = false;       ///< the limit stays as it is

  /** An interval, in which kInterval bytes were gathered, ends at `now_ns`; the tiles of so many of them, `waited`, had
   *  had to wait. */
  HEDDLE_HD void end_interval(uint64_t now_ns, uint64_t waited) {
    const uint64_t took = now_ns - began_ns;
    const bool holds_up = waited >= kInterval / 2, is_unused = waited == 0 && limit > kFirst;
    if (!fixed && (holds_up || is_unused)) {
      up = holds_up && (took > took_ns ? !up : up);
      const uint64_t step = limit / kStep, next = up ? limit + step : limit - step;
      limit = next < kLeast ? kLeast : next > kMost ? kMost : next;
    }
    began_ns = now_ns, took_ns = took;
  }
};

/** Limits the bytes of gathers under way on a device. Too many reads of host memory in flight hold up every other
 *  access to memory of the GPU (table look-ups from 3 to over 100 us), so tiles queue here: by bytes, not by tiles,
 *  since short packets do not need it. Device memory. */
struct Gate {
  unsigned long long taken = 0, done = 0;          ///< bytes since the start of the device
  unsigned long long limit = LimitSearch{}.limit;  ///< bytes under way at most: the search's
  unsigned long long waited = 0;                   ///< bytes of the tiles that had to in this interval
  uint32_t searching = 0;                          ///< whether a thread has `search`
  LimitSearch search;
};

}  // namespace heddle::gpu
