#pragma once

/** HEDDLE_HD marks a function that runs on the host and on a GPU: the one rule of a network function. */
#ifdef __CUDACC__
#define HEDDLE_HD __host__ __device__
#else
#define HEDDLE_HD
#endif
