#pragma once

#include <memory>
#include <vector>

#include "io/dpdk/dpdk.h"

namespace heddle::dpdk {

/** Stops a port, and removes it if it is a virtual device. `others` stay open. Not from DPDK's interrupt thread. */
void close_port(const Port& port, const std::vector<std::unique_ptr<Port>>& others);

}  // namespace heddle::dpdk
