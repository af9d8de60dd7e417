#pragma once

#include <array>

#include "core/element.h"
#include "io/dpdk/dpdk.h"

namespace heddle {

/** ToDPDKDevice: sends packets to a NIC or a virtual device through DPDK.
 *
 *      ToDPDKDevice(PORT [, keywords NDESC, BLOCKING])
 *
 *  PORT: as for FromDPDKDevice; the same name means the same device. NDESC: transmit descriptors, default 1024.
 *  BLOCKING: when the device takes no more, wait for it (true, default) or drop at once (false). A device that takes
 *  nothing at all for 100 ms is not waited for until it takes packets again. Dropped packets are counted as "tx_full".
 *
 *  Every packet thread (-j) sends through a queue of its own.
 *
 *  Example:
 *
 *      FromDPDKDevice(0000:03:00.0) -> EtherMirror -> ToDPDKDevice(0000:03:00.0);
 */
class ToDPDKDevice : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/0"; }
  Access access(Processor) const override { return {.reads = {kWholePacket}}; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  /** Sends what it can of [packets, packets + n) within the patience that BLOCKING gives; returns how many. */
  int send_patiently(Packet** packets, int n, int thread);

  dpdk::Port* port_ = nullptr;
  bool blocking_ = true;
  struct alignas(64) Queue {
    bool stuck = false;  // it has taken nothing for kPatience
  };
  std::array<Queue, kMaxThreads> queues_;
};

}  // namespace heddle
