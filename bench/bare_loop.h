#pragma once

#include <rte_mbuf.h>

#include <functional>

namespace heddle::bench {

/** Millions of packets a second of a bare receive-and-transmit loop between `net_null0` with `arguments` (",size=60")
 *  and net_null1 on the first core, as DPDK's own examples write it: one burst after another, from a pool like a
 *  chain's. `work` is done to each burst, if it is set. What the ratios of chains between ports are taken against. */
double bare_loop_mpps(double seconds, const char* arguments = "",
                      const std::function<void(rte_mbuf** packets, uint16_t n)>& work = {});

/** What a core does to each burst. */
using BareWork = std::function<void(rte_mbuf** packets, uint16_t n)>;

/** The same on the first `cores` cores, of which number c has net_null(2c) and net_null(2c + 1), and work of its own:
 *  make(c). */
double bare_loops_mpps(double seconds, const char* arguments, int cores, const std::function<BareWork(int core)>& make);

}  // namespace heddle::bench
