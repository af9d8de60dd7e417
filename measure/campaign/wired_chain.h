#pragma once

#include <functional>
#include <string>
#include <vector>

#include "click/diagnostics.h"
#include "click/graph.h"

namespace heddle::bench {

/** A chain whose devices and captures have become ports of a virtual wire. */
struct WiredChain {
  struct Port {
    std::string stands_for;                    ///< "capture in.pcap", "device eth0"
    bool receives = false, transmits = false;  ///< the router, from it and to it
  };
  click::Graph graph;
  std::vector<Port> ports;
  int queues = 1;           ///< that the chain names at least (QUEUE, N_QUEUES)
  int soft_nic_queues = 0;  ///< of the GPU ports that drive a soft NIC, all of which are served; 0: there are none
  unsigned data_room = 0;   ///< check_chain(): of packets, headroom included, if DPDKInfo says it; 0: what they need

  /** Whether packets come from the wire; else the chain makes its own, and what it sent to devices it discards. */
  bool fed() const;
};

/** Replaces every source and sink that stands for a device or a file by FromDPDKDevice and ToDPDKDevice on a port of
 *  the wire, one port for each distinct device or file; `port_name` says what the chain calls port i. Sources that make
 *  packets (InfiniteSource, RatedSource) stay, and so do GPU ports with a soft NIC, whose device becomes a port of the
 *  wire. Throws Error for GPU ports of a memif. If there are only such, sinks become Discard. */
WiredChain put_on_wire(const click::Graph& graph, const std::function<std::string(int)>& port_name);

}  // namespace heddle::bench
