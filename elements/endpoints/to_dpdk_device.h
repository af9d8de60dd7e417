#pragma once

#include <array>

#include "core/counters.h"
#include "core/element.h"
#include "io/dpdk/dpdk.h"

namespace heddle {

/** ToDPDKDevice: sends packets to a NIC or a virtual device through DPDK.
 *
 *      ToDPDKDevice(PORT [, QUEUE, N_QUEUES, keywords NDESC, BLOCKING, MTU, MAC, IQUEUE, BURST, TIMEOUT, VERBOSE,
 *                   MAXTHREADS, THREADOFFSET])
 *
 *  PORT: as for FromDPDKDevice; the same name means the same device. QUEUE: all threads send through this queue, taking
 *  turns; default -1: every packet thread (-j) has a queue of its own. N_QUEUES: queues of the port, default 0: one a
 *  thread. NDESC: transmit descriptors, default 1024. BLOCKING: when the device takes no more, wait for it (true,
 *  default) or drop at once (false). A device that takes nothing at all for 100 ms is not waited for until it takes
 *  packets again. MTU, MAC: as for FromDPDKDevice. IQUEUE, BURST, TIMEOUT, VERBOSE, MAXTHREADS and THREADOFFSET are
 *  accepted for FastClick's sake: a batch is sent as soon as it is there, by the thread that has it.
 *
 *  Drop reasons: `tx_full` (the device took no more), `too_long` (for the MTU of its kernel interface, or the buffers
 *  of a memif, whose client makes them: 10240 bytes unless its device says bsize=BYTES, 2048 until one is there),
 *  `removed` (its interface is not there any more, which the program reports).
 *
 *  Handlers: `count` (r, packets sent), `dropped` (r), `reset_counts` (w), and the port's own, as FromDPDKDevice has
 *  them (`hw_count`, `hw_bytes`, `hw_errors` of what was sent). Statistics: `errors` (as the port counts them),
 *  `link_downs` (times that the link was lost), `tx_waited` (packets that the device had no room for at once).
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
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 protected:
  /** The keywords that ToDevice has, too. */
  void configure_port(click::Arguments& arguments, dpdk::Port& port);

 private:
  enum Reason { kTxFull, kTooLong, kRemoved };

  /** Sends what it can of [packets, packets + n) within the patience that BLOCKING gives; returns how many. */
  int send(Packet** packets, int n, int thread);
  int send_patiently(Packet** packets, int n, int thread);
  uint16_t queue_of(int thread) const { return static_cast<uint16_t>(queue_ < 0 ? thread : queue_); }

  dpdk::Port* port_ = nullptr;
  bool blocking_ = true;
  int queue_ = -1;
  std::atomic_flag queue_taken_;           // with QUEUE
  std::array<bool, kMaxThreads> stuck_{};  // by thread: its queue has taken nothing for kPatience
  PerThreadCounts waited_{counts};
  std::vector<std::pair<std::string, uint64_t>> port_statistics_;  // read when the port stops
};

}  // namespace heddle
