#pragma once

#include <cuda_runtime.h>

#include <cuda/atomic>

#include "gpu/events.h"

namespace heddle::gpu {

/** Makes room for `count` events in a row, which put() has to write; returns the first one's number. Any thread, at any
 *  time. */
template <class Event, uint32_t kSize>
__device__ unsigned long long reserve(EventRing<Event, kSize>& ring, uint32_t count) {
  return atomicAdd(&ring.pushed, static_cast<unsigned long long>(count));
}

/** Writes event `number`, for which there is room. */
template <class Event, uint32_t kSize>
__device__ void put(EventRing<Event, kSize>& ring, unsigned long long number, const Event& event) {
  using Ring = EventRing<Event, kSize>;
  using Word = cuda::atomic_ref<unsigned long long, cuda::thread_scope_system>;
  uint32_t words[Ring::kWords] = {};
  memcpy(words, &event, sizeof event);
  auto* const to = ring.word[number % kSize];
  for (uint32_t w = 0; w < Ring::kWords; ++w)
    Word(to[w]).store(static_cast<unsigned long long>(Ring::stamp_of(number)) << 32 | words[w],
                      cuda::memory_order_relaxed);
}

/** Tells the host of `event`. Any thread, at any time; returns at once. */
template <class Event, uint32_t kSize>
__device__ void push(EventRing<Event, kSize>& ring, const Event& event) {
  put(ring, reserve(ring, 1), event);
}

}  // namespace heddle::gpu
