#pragma once

#include <rte_mbuf.h>

#include <functional>

namespace heddle::bench {

/** Millions of packets a second of a bare receive-and-transmit loop between `net_null0` with `arguments` (",size=60") and
 *  net_null1 on the first core, as DPDK's own examples write it: one burst after another, from a pool like a chain's.
 *  `work` is done to each burst, if it is set. What the ratios of chains between ports are taken against. */
double bare_loop_mpps(double seconds, const char* arguments = "",
                      const std::function<void(rte_mbuf** packets, uint16_t n)>& work = {});

}  // namespace heddle::bench
