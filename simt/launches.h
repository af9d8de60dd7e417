#pragma once

#include <cstdint>

namespace heddle::simt {

/** Kernels that streams have been given by launches of their own, graphs that have been launched, and changes of their
 *  kernels' parameters. */
struct Launches {
  uint64_t single = 0, graphs = 0, changes = 0;
};

/** So far, in this process; any thread. For tests. */
Launches launches();

}  // namespace heddle::simt
