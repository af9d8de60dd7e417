#pragma once

#include <vector>

namespace heddle {

/** Ids of the cores that the process may use (its main thread's affinity, whatever the calling thread is kept to),
 *  ascending; empty if the kernel does not say. */
std::vector<int> allowed_cores();
int core_count();  ///< how many; at least 1

/** The place among them of the `which`-th core of NUMA node `node`, both from 0; -1: there is none. Where the kernel
 *  knows no nodes all are of node 0. */
int core_of_node(int node, int which);

/** Keeps the calling thread on the k-th of them, from 0; if there are not that many, it stays free. */
void pin_to_core(int k);

}  // namespace heddle
