#pragma once

/** HEDDLE_HD marks a function that runs on the host and on a GPU: the one rule of a network function. */
#ifdef __CUDACC__
#define HEDDLE_HD __host__ __device__
#else
#define HEDDLE_HD
#endif

/** g_expensive(address) before an access to *address that probably misses the caches is for gopt (gopt/README.md); to
 *  everybody else it means nothing. */
#ifndef g_expensive
#define g_expensive(address) ((void)0)
#endif
