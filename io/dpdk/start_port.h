#pragma once

#include <rte_mempool.h>

#include "io/dpdk/dpdk.h"

namespace heddle::dpdk {

/** Configures a port that EAL has, sets up a queue pair for each of `threads` or as many as it has been asked for, with
 *  buffers of `pool`, and starts it; sets its id, queues and whether lengths are checked. `descriptors`: of a queue, if
 *  the port does not say. Throws Error, with what to do. */
void start_port(Port& port, rte_mempool* pool, int threads, int descriptors);

}  // namespace heddle::dpdk
