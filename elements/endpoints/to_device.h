#pragma once

#include "elements/endpoints/to_dpdk_device.h"

namespace heddle {

/** ToDevice: sends packets through a kernel interface.
 *
 *      ToDevice(DEVNAME [, keywords METHOD, BURST, NDESC, BLOCKING, MTU, MAC])
 *
 *  DEVNAME: the interface's name, such as eth0, or its Ethernet address. METHOD (or CAPTURE): as for FromDevice; the
 *  two share the interface. The input may be push or pull (Queue before). The other keywords are those of ToDPDKDevice,
 *  as are handlers, statistics and drop reasons. Needs root.
 *
 *  Example:
 *
 *      FromDump(in.pcap, TIMING true) -> ToDevice(eth0);
 */
class ToDevice : public ToDPDKDevice {
 public:
  void configure(click::Arguments& arguments) override;
};

}  // namespace heddle
