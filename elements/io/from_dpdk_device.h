#pragma once

#include "core/element.h"
#include "io/dpdk/dpdk.h"

namespace heddle {

/** FromDPDKDevice: receives packets from a NIC or a virtual device through DPDK.
 *
 *      FromDPDKDevice(PORT [, keywords BURST, NDESC, PROMISC])
 *
 *  PORT: a DPDK port number (0), a PCI address (0000:03:00.0), or a virtual device with its arguments in quotes:
 *
 *      net_null0               gives empty frames as fast as it can, for measuring
 *      net_ring0               gives back what ToDPDKDevice(net_ring0) sends
 *      net_tap0                "net_tap0,iface=heddle0": makes a kernel interface heddle0 (root)
 *      net_af_packet0          "net_af_packet0,iface=eth0": joins a kernel interface (root)
 *      net_af_xdp0             "net_af_xdp0,iface=eth0": the same, faster (root)
 *      net_memif0              "net_memif0,role=client,socket=/tmp/memif.sock": shared memory with another process
 *      net_pcap0               "net_pcap0,rx_pcap=in.pcap,tx_pcap=out.pcap": capture files through libpcap
 *
 *  BURST: packets asked for at a time, default 64, 1 to 1024. NDESC: receive descriptors, default 1024. PROMISC:
 *  default true.
 *
 *  Every packet thread (-j) receives from a queue of its own; StaticThreadSched gives all queues to one thread. Heddle composes DPDK's arguments itself; huge pages are
 *  used if there are free ones, and not needed. `heddle run --dpdk "ARGS"` adds arguments for special cases. Frames that
 *  arrive in several buffers are put into one. Statistics: `missed` (no descriptor was free), `errors`, `no_buffer`, as
 *  the port counts them; `too_long` (frames over 2048 bytes that arrive in several buffers, dropped).
 *
 *  Example:
 *
 *      FromDPDKDevice("net_tap0,iface=tap0") -> EtherMirror -> ToDPDKDevice(net_tap0);
 */
class FromDPDKDevice : public Source {
 public:
  const char* processing() const override { return "/h"; }
  void configure(click::Arguments& arguments) override;
  void start(const Environment& environment) override;
  void receive(Batch& batch) override;
  bool every_thread() const override { return true; }
  std::string stop() override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  dpdk::Port* port_ = nullptr;
  int burst_ = 64, queues_ = 1;
  std::atomic<uint64_t> too_long_{0};
  std::vector<std::pair<std::string, uint64_t>> port_statistics_;  // read when the port stops
};

}  // namespace heddle
