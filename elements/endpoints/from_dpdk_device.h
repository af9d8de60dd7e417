#pragma once

#include "core/element.h"
#include "io/dpdk/dpdk.h"

namespace heddle {

/** FromDPDKDevice: receives packets from a NIC or a virtual device through DPDK.
 *
 *      FromDPDKDevice(PORT [, QUEUE, N_QUEUES, keywords PROMISC, BURST, NDESC, MTU, MAC, ACTIVE, PAUSE,
 *                     MAXTHREADS, THREADOFFSET, VERBOSE])
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
 *  QUEUE: receive from this queue alone, on one thread; default -1: from all. N_QUEUES: receive queues of the port,
 *  default 0: one a packet thread (-j), but for the master (--workers). Every thread receives from its queues;
 *  StaticThreadSched gives all of them to one thread. PROMISC: receive frames for other addresses, too, default true.
 *  BURST: packets asked for at a time, default 64, 1 to 1024. NDESC: receive descriptors, default 1024. MTU: the port's
 *  is set to it, 68 to 9216 bytes; by default it stays as it is. MAC: the port's address is set to it. ACTIVE: whether
 *  it receives, default true. PAUSE: Ethernet flow control, none, rx, tx or full; default unset: as it is. MAXTHREADS,
 *  THREADOFFSET: only so many threads receive, from that one on; default all. VERBOSE is accepted and has no effect.
 *  FastClick's other keywords are errors that say what to do instead.
 *
 *  Heddle composes DPDK's arguments itself; huge pages are used if there are free ones, and not needed.
 *  `heddle run --dpdk "ARGS"` adds arguments for special cases; cores that it names (-l, -c, --lcores) are those on
 *  which packet threads run, as many as -j says. Frames up to the port's MTU are received, up to 9216 bytes (a larger
 *  MTU is taken for that); those that arrive in several buffers are put into one. An interface that is removed ends its
 *  source; the program reports it and exits with an error.
 *
 *  Handlers: `count` (r), `byte_count` (r), `reset_counts` (w), `active` (rw), and the port's own: `hw_count`,
 *  `hw_bytes`, `hw_dropped` (no descriptor was free), `hw_errors`, `nombufs`, `xstats [NAME]`, `carrier` (1 or 0),
 *  `link_status` (up, down, removed), `speed` (Mbps), `duplex`, `mac`, `mtu`, `device`, `driver`, `nb_rx_queues`,
 *  `nb_tx_queues` (all r). Statistics: `missed`, `errors`, `no_buffer`, as the port counts them; `too_long` (no buffer
 *  held a frame that arrived in several, dropped), `bad_length` (the driver gave a frame more bytes than its buffer
 *  has, dropped), `link_downs` (times that the link was lost).
 *
 *  Example:
 *
 *      FromDPDKDevice("net_tap0,iface=tap0") -> EtherMirror -> ToDPDKDevice(net_tap0);
 */
class FromDPDKDevice : public Source {
 public:
  const char* processing() const override { return "/h"; }
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override { return {.column_writes = columns(Column::link)}; }
  void start(const Environment& environment) override;
  void receive(Batch& batch) override;
  bool every_thread() const override { return queue_ < 0; }
  bool exhausted() const override { return port_ != nullptr && port_->removed.load(std::memory_order_relaxed); }
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 protected:
  /** The keywords that FromDevice has, too. */
  void configure_port(click::Arguments& arguments, dpdk::Port& port);

  uint32_t snap_length_ = UINT16_MAX;  ///< packets are cut to it

 private:
  int poll(int queue, Packet** packets, int wanted);
  Packet* in_one_buffer(Packet* packet);

  dpdk::Port* port_ = nullptr;
  int burst_ = 0, queue_ = -1, queues_ = 1;
  int most_threads_ = kMaxThreads, first_thread_ = 0, threads_ = 1;  // that receive
  PacketPool* large_packets_ = nullptr;
  std::atomic<bool> active_{true};
  std::atomic<uint64_t> too_long_{0}, bad_length_{0};
  std::vector<std::pair<std::string, uint64_t>> port_statistics_;  // read when the port stops
};

}  // namespace heddle
