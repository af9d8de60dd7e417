#pragma once

/** CUDA's cache-hinted accesses, fences, atomics and clock. */

#include <chrono>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "warp.h"

#if defined(__SANITIZE_THREAD__)
#define SIMT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SIMT_TSAN 1
#endif
#endif
#ifndef SIMT_TSAN
#define SIMT_TSAN 0
#endif

// For what the runtime shares between the fibers of an OS thread, which ThreadSanitizer takes for separate threads.
#if SIMT_TSAN
#define SIMT_NO_TSAN __attribute__((no_sanitize("thread"), noinline))
#else
#define SIMT_NO_TSAN
#endif

namespace heddle::simt {

inline constexpr int kPollsPerYield = 64;
inline constinit thread_local int polls_left = kPollsPerYield;

/** Called by each atomic read and __ldcv, so that a thread that polls without a sleep lets its block's others run. */
SIMT_NO_TSAN inline void count_poll() {
  if (--polls_left > 0) return;
  polls_left = kPollsPerYield;
  yield();
}

/** A sequentially consistent fence. ThreadSanitizer does not follow fences, so it gets a read-modify-write of one word:
 *  that orders a fence with every later fence, but not with an acquire or release of a thread that has no fence. Under
 *  ThreadSanitizer, pair fences with fences, or use acquire and release on the atomic itself. */
#if SIMT_TSAN
inline constinit uint32_t fence_word = 0;
inline void fence() { __atomic_fetch_add(&fence_word, 1, __ATOMIC_ACQ_REL); }
#else
inline void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
#endif

/** A word that may alias any type. A 16-byte access is four words: unlike on a GPU it can tear. */
typedef uint32_t __attribute__((may_alias)) AnyWord;

template <class T>
concept Cacheable = std::is_trivially_copyable_v<T> && sizeof(T) <= 16;

template <Cacheable T>
T load_plain(const T* from) {
  if constexpr (std::is_scalar_v<T>) {
    return *static_cast<const volatile T*>(from);
  } else {
    static_assert(sizeof(T) % sizeof(AnyWord) == 0 && alignof(T) >= alignof(AnyWord));
    T result{};
    AnyWord* words = reinterpret_cast<AnyWord*>(&result);  // auto would lose the attribute.
    for (size_t i = 0; i < sizeof(T) / sizeof(AnyWord); ++i) {
      words[i] = reinterpret_cast<const volatile AnyWord*>(from)[i];
    }
    return result;
  }
}

template <Cacheable T>
void store_plain(T* to, const T& value) {
  if constexpr (std::is_scalar_v<T>) {
    *static_cast<volatile T*>(to) = value;
  } else {
    static_assert(sizeof(T) % sizeof(AnyWord) == 0 && alignof(T) >= alignof(AnyWord));
    for (size_t i = 0; i < sizeof(T) / sizeof(AnyWord); ++i) {
      reinterpret_cast<volatile AnyWord*>(to)[i] = reinterpret_cast<const AnyWord*>(&value)[i];
    }
  }
}

/** The types of CUDA's atomic functions; uint64_t is none of them (it is unsigned long). */
template <class T>
concept Atomic = std::same_as<T, int> || std::same_as<T, unsigned> || std::same_as<T, unsigned long long>;

template <class T, class Change>
T change_atomically(T* address, Change change) {
  count_poll();
  T old = __atomic_load_n(address, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(address, &old, change(old), true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}

}  // namespace heddle::simt

inline namespace simt_cuda {

#define SIMT_LOAD(name)                    \
  template <heddle::simt::Cacheable T>     \
  T name(const T* from) {                  \
    return heddle::simt::load_plain(from); \
  }
SIMT_LOAD(__ldg)
SIMT_LOAD(__ldca)
SIMT_LOAD(__ldcg)
SIMT_LOAD(__ldcs)
SIMT_LOAD(__ldlu)
#undef SIMT_LOAD

/** The load that polls. */
template <heddle::simt::Cacheable T>
T __ldcv(const T* from) {
  heddle::simt::count_poll();
  return heddle::simt::load_plain(from);
}

#define SIMT_STORE(name)                                   \
  template <heddle::simt::Cacheable T>                     \
  void name(T* to, const std::type_identity_t<T>& value) { \
    heddle::simt::store_plain(to, value);                  \
  }
SIMT_STORE(__stwb)
SIMT_STORE(__stcg)
SIMT_STORE(__stcs)
SIMT_STORE(__stwt)
#undef SIMT_STORE

inline void __threadfence_block() { heddle::simt::fence(); }
inline void __threadfence() { heddle::simt::fence(); }
inline void __threadfence_system() { heddle::simt::fence(); }

// Relaxed, as on a GPU. The second type follows the first, so that atomicAdd(&word, 1) needs no cast.
#define SIMT_ATOMIC(name, expression)                    \
  template <heddle::simt::Atomic T>                      \
  T name(T* address, std::type_identity_t<T> value) {    \
    heddle::simt::count_poll();                          \
    return expression(address, value, __ATOMIC_RELAXED); \
  }
SIMT_ATOMIC(atomicAdd, __atomic_fetch_add)
SIMT_ATOMIC(atomicSub, __atomic_fetch_sub)
SIMT_ATOMIC(atomicAnd, __atomic_fetch_and)
SIMT_ATOMIC(atomicOr, __atomic_fetch_or)
SIMT_ATOMIC(atomicXor, __atomic_fetch_xor)
SIMT_ATOMIC(atomicExch, __atomic_exchange_n)
#undef SIMT_ATOMIC

template <heddle::simt::Atomic T>
T atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
  heddle::simt::count_poll();
  __atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return compare;
}
template <heddle::simt::Atomic T>
T atomicMin(T* address, std::type_identity_t<T> value) {
  return heddle::simt::change_atomically(address, [=](T old) { return old < value ? old : value; });
}
template <heddle::simt::Atomic T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  return heddle::simt::change_atomically(address, [=](T old) { return old < value ? value : old; });
}

/** Nanoseconds rather than clock cycles. */
inline long long clock64() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace simt_cuda
