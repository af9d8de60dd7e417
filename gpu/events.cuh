#pragma once

#include <cuda_runtime.h>

#include <cuda/atomic>

#include "gpu/events.h"

namespace heddle::gpu {

/** Tells the host of `event`. Any thread, at any time; returns at once. */
template <class Event, uint32_t kSize>
__device__ void push(EventRing<Event, kSize>& ring, const Event& event) {
  using Ring = EventRing<Event, kSize>;
  using Word = cuda::atomic_ref<unsigned long long, cuda::thread_scope_system>;
  uint32_t words[Ring::kWords] = {};
  memcpy(words, &event, sizeof event);
  const unsigned long long number = atomicAdd(&ring.pushed, 1ull);
  auto* const to = ring.word[number % kSize];
  for (uint32_t w = 0; w < Ring::kWords; ++w)
    Word(to[w]).store(static_cast<unsigned long long>(Ring::stamp_of(number)) << 32 | words[w],
                      cuda::memory_order_relaxed);
}

}  // namespace heddle::gpu
