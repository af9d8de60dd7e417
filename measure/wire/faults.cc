#include "measure/wire/faults.h"

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include <cstring>

#include "io/dpdk/dpdk.h"
#include "measure/wire/signature.h"

namespace heddle::bench {
namespace {

constexpr uint16_t kBurst = 64;
constexpr uint32_t kNoFlow = UINT32_MAX;
constexpr double kNoSuccessor_s = 0.02;  ///< after which a packet to be swapped goes on as it is

uint32_t flow_of(rte_mbuf* packet, size_t flows) {
  if (packet->data_len < kSignatureBytes) return kNoFlow;
  Signature signature;
  std::memcpy(&signature, rte_pktmbuf_mtod_offset(packet, uint8_t*, signature_at(packet->data_len)), sizeof signature);
  return (signature.tag & ~kRunMask) == kSignatureTag && signature.flow < flows ? signature.flow : kNoFlow;
}

}  // namespace

Faults::Faults(uint16_t in, uint16_t out, int queues, uint32_t flows, const Fault& fault)
    : in_(in), out_(out), fault_(fault), random_(fault.seed), queues_(static_cast<size_t>(queues)), passed_(flows) {
  const auto hz = static_cast<double>(rte_get_tsc_hz());
  delay_ticks_ = static_cast<uint64_t>(hz * (fault.kind == Fault::kSwap ? kNoSuccessor_s : fault.delay_us * 1e-6));
  thread_ = std::thread(&Faults::serve, this);
}

Faults::~Faults() {
  ending_ = true;
  thread_.join();
}

Faults::Tally Faults::tally() const { return {taken_, dropped_, duplicated_, delayed_, overtaken_}; }

void Faults::serve() {
  const dpdk::ThreadGuard registered;
  while (!ending_.load(std::memory_order_relaxed))
    for (size_t i = 0; i < queues_.size(); ++i) work(static_cast<uint16_t>(i), queues_[i]);
  for (Queue& queue : queues_)
    for (const Held& held : queue.held) rte_pktmbuf_free(held.packet);
}

void Faults::work(uint16_t number, Queue& queue) {
  rte_mbuf* packets[kBurst];
  const uint16_t n = rte_eth_rx_burst(in_, number, packets, kBurst);
  for (uint16_t i = 0; i < n; ++i) pass(number, queue, packets[i]);
  taken_ += n;
  if (!queue.held.empty()) release(number, queue, kNoFlow);
}

bool Faults::chosen(Queue& queue) {
  if (fault_.kind == Fault::kNone) return false;
  return fault_.every != 0 ? ++queue.count % fault_.every == 0 : random_.chance(fault_.share);
}

void Faults::pass(uint16_t number, Queue& queue, rte_mbuf* packet) {
  const uint32_t flow = flow_of(packet, passed_.size());
  if (chosen(queue) && flow != kNoFlow) {
    if (fault_.kind == Fault::kDrop) {
      rte_pktmbuf_free(packet);
      ++dropped_;
      return;
    }
    if (fault_.kind == Fault::kDuplicate) {
      rte_mbuf_refcnt_update(packet, 1);
      send(number, packet);
      ++duplicated_;
    } else {
      if (fault_.kind == Fault::kDelay) ++delayed_;
      queue.held.push_back({packet, flow, passed_[flow], rte_rdtsc() + delay_ticks_});
      return;
    }
  }
  send(number, packet);
  if (flow != kNoFlow) ++passed_[flow];
  if (fault_.kind == Fault::kSwap && !queue.held.empty()) release(number, queue, flow);
}

/** Sends held packets whose time has come, and those of `swapped_flow`. */
void Faults::release(uint16_t number, Queue& queue, uint32_t swapped_flow) {
  const uint64_t now = rte_rdtsc();
  size_t left = 0;
  for (const Held& held : queue.held) {
    if (held.release > now && held.flow != swapped_flow) {
      queue.held[left++] = held;
      continue;
    }
    if (passed_[held.flow] != held.passed) ++overtaken_;
    send(number, held.packet);
  }
  queue.held.resize(left);
}

/** Waits while the port is full: only planted faults happen here. */
void Faults::send(uint16_t number, rte_mbuf* packet) {
  while (rte_eth_tx_burst(out_, number, &packet, 1) == 0)
    if (ending_.load(std::memory_order_relaxed)) return rte_pktmbuf_free(packet);
}

}  // namespace heddle::bench
