#pragma once

#include "core/macros.h"

/* Reads an entry of a route table whole while another thread may be replacing it. What the writer stored before it
   published this value (a new block's entries, a new hop) is visible through the value read: acquire on the host, the
   data dependency on a GPU, whose copy of the table is patched in publication order. */
#ifdef __CUDA_ARCH__
#define ROUTE_ENTRY(type, entry) (*(const volatile type*)(entry))
#define ROUTE_FENCE() __threadfence() /* what was read before comes before what is read after */
#else
#define ROUTE_FENCE() ((void)0) /* acquire says so already */
#define ROUTE_ENTRY(type, entry) __atomic_load_n(entry, __ATOMIC_ACQUIRE)
#endif
