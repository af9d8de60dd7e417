#pragma once

/** Warp operations and barriers; the rendezvous itself is in fibers.cc.
 *
 *  A mask must name lanes that all arrive: lanes that have exited are reported, but those that a short last warp never
 *  had are taken out of it. Votes, shuffles, matches and reductions order no memory accesses; __syncwarp and
 *  __syncthreads do. ThreadSanitizer sees the difference. */

#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "types.h"

namespace heddle::simt {

enum class Op : uint8_t {
  kSyncWarp,
  kBallot,
  kAny,
  kAll,
  kShuffle,
  kShuffleUp,
  kShuffleDown,
  kShuffleXor,
  kMatchAny,
  kReduceAdd,
  kReduceMin,
  kReduceMax,
  kReduceAnd,
  kReduceOr,
  kReduceXor,
  kSyncThreads,
};

/** Where a kernel calls an operation, for the reports. */
struct Site {
  const char* file;
  int line;
};

/** One lane's part of a warp operation: `operand` is a shuffle's source lane, distance or lane mask. */
struct Request {
  Op op;
  uint32_t mask;
  uint64_t value = 0;
  uint32_t operand = 0;
  uint32_t width = 32;
};

/** Waits for the other lanes of the mask and returns this lane's result. */
uint64_t warp_op(const Request& request, Site site);
void block_barrier(Site site);
uint32_t live_lanes();
/** Lets the block's other threads run, then now and then the machine's other OS threads. No-op on the host. */
void yield();
[[noreturn]] void trap();
/** The block's dynamic shared memory, at a multiple of 128 bytes, as the launch has sized it. */
void* dynamic_shared();

template <class T>
concept WarpValue = std::is_arithmetic_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8);

template <WarpValue T>
uint64_t to_bits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <WarpValue T>
T from_bits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace heddle::simt

inline namespace simt_cuda {

// The caller's place, as the last two parameters of an operation.
#define SIMT_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(SIMT_SITE) { heddle::simt::block_barrier({file, line}); }

inline void __syncwarp(unsigned mask = ~0u, SIMT_SITE) {
  heddle::simt::warp_op({heddle::simt::Op::kSyncWarp, mask}, {file, line});
}

inline unsigned __ballot_sync(unsigned mask, int predicate, SIMT_SITE) {
  return static_cast<unsigned>(heddle::simt::warp_op({heddle::simt::Op::kBallot, mask, predicate != 0}, {file, line}));
}
inline int __any_sync(unsigned mask, int predicate, SIMT_SITE) {
  return static_cast<int>(heddle::simt::warp_op({heddle::simt::Op::kAny, mask, predicate != 0}, {file, line}));
}
inline int __all_sync(unsigned mask, int predicate, SIMT_SITE) {
  return static_cast<int>(heddle::simt::warp_op({heddle::simt::Op::kAll, mask, predicate != 0}, {file, line}));
}

#define SIMT_SHUFFLE(name, kind, Operand)                                                     \
  template <heddle::simt::WarpValue T>                                                        \
  T name(unsigned mask, T value, Operand operand, int width = warpSize, SIMT_SITE) {          \
    return heddle::simt::from_bits<T>(                                                        \
        heddle::simt::warp_op({heddle::simt::Op::kind, mask, heddle::simt::to_bits(value),    \
                               static_cast<uint32_t>(operand), static_cast<uint32_t>(width)}, \
                              {file, line}));                                                 \
  }
/** A lane whose source is outside the mask gets 0xa5a5..., where a GPU leaves the result undefined. */
SIMT_SHUFFLE(__shfl_sync, kShuffle, int)
SIMT_SHUFFLE(__shfl_up_sync, kShuffleUp, unsigned)
SIMT_SHUFFLE(__shfl_down_sync, kShuffleDown, unsigned)
SIMT_SHUFFLE(__shfl_xor_sync, kShuffleXor, int)
#undef SIMT_SHUFFLE

template <heddle::simt::WarpValue T>
unsigned __match_any_sync(unsigned mask, T value, SIMT_SITE) {
  return static_cast<unsigned>(
      heddle::simt::warp_op({heddle::simt::Op::kMatchAny, mask, heddle::simt::to_bits(value)}, {file, line}));
}

// Signed values travel sign-extended, so that one signed comparison orders both kinds.
#define SIMT_REDUCE(name, kind, T)                                                                          \
  inline T name(unsigned mask, T value, SIMT_SITE) {                                                        \
    return static_cast<T>(heddle::simt::warp_op(                                                            \
        {heddle::simt::Op::kind, mask, static_cast<uint64_t>(static_cast<int64_t>(value))}, {file, line})); \
  }
SIMT_REDUCE(__reduce_add_sync, kReduceAdd, unsigned)
SIMT_REDUCE(__reduce_add_sync, kReduceAdd, int)
SIMT_REDUCE(__reduce_min_sync, kReduceMin, unsigned)
SIMT_REDUCE(__reduce_min_sync, kReduceMin, int)
SIMT_REDUCE(__reduce_max_sync, kReduceMax, unsigned)
SIMT_REDUCE(__reduce_max_sync, kReduceMax, int)
SIMT_REDUCE(__reduce_and_sync, kReduceAnd, unsigned)
SIMT_REDUCE(__reduce_or_sync, kReduceOr, unsigned)
SIMT_REDUCE(__reduce_xor_sync, kReduceXor, unsigned)
#undef SIMT_REDUCE
#undef SIMT_SITE

/** An approximation: the lanes that have not exited. A GPU may name any subset of them that holds the caller. */
inline unsigned __activemask() { return heddle::simt::live_lanes(); }

/** Gives way to the block's other threads and to other OS threads; the time is not kept. */
inline void __nanosleep(unsigned) { heddle::simt::yield(); }

[[noreturn]] inline void __trap() { heddle::simt::trap(); }

}  // namespace simt_cuda
