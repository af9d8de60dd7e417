#include "io/dpdk/memif.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <setjmp.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>

namespace heddle::dpdk {
namespace {

constexpr uint16_t kMaxSent = 64;  // at a time
constexpr int kMaxFaults = 8;      // in a row; a peer that goes makes one or two

using Burst = uint16_t (*)(void* queue, rte_mbuf** packets, uint16_t n);
Burst driver_receive, driver_send;            // the same for all ports
thread_local sigjmp_buf* way_out;             // of the burst that this thread is in
thread_local std::map<void*, int> faults_of;  // in a row, by queue
struct sigaction faults_elsewhere = {};       // who serves them

void on_fault(int number, siginfo_t* info, void* context) {
  const bool sent_by_someone = info->si_code <= 0;
  if (sigjmp_buf* out = way_out; out != nullptr && !sent_by_someone) {
    way_out = nullptr;
    siglongjmp(*out, 1);
  }
  if ((faults_elsewhere.sa_flags & SA_SIGINFO) != 0) {
    faults_elsewhere.sa_sigaction(number, info, context);
  } else if (faults_elsewhere.sa_handler == SIG_DFL || faults_elsewhere.sa_handler == SIG_IGN) {
    signal(number, SIG_DFL);
    if (sent_by_someone) raise(number);  // else the same instruction comes again
  } else {
    faults_elsewhere.sa_handler(number);
  }
}

/** The driver's burst; false if it met a fault. */
bool without_fault(Burst burst, void* queue, rte_mbuf** packets, uint16_t n, uint16_t& done) {
  sigjmp_buf out;
  if (sigsetjmp(out, 0) != 0) {
    if (++faults_of[queue] == kMaxFaults)
      std::fprintf(stderr, "heddle: memif: what a peer shares makes no sense; its queue is left alone from now on\n");
    return false;
  }
  way_out = &out;
  done = burst(queue, packets, n);
  way_out = nullptr;
  if (!faults_of.empty()) [[unlikely]]
    faults_of.erase(queue);
  return true;
}

bool is_left_alone(void* queue) {
  if (faults_of.empty()) [[likely]]
    return false;
  const auto found = faults_of.find(queue);
  return found != faults_of.end() && found->second >= kMaxFaults;
}

uint16_t receive(void* queue, rte_mbuf** packets, uint16_t n) {
  if (is_left_alone(queue)) return 0;
  std::fill(packets, packets + n, nullptr);
  uint16_t done = 0;
  if (without_fault(driver_receive, queue, packets, n, done)) return done;
  return static_cast<uint16_t>(std::find(packets, packets + n, nullptr) - packets);
}

// What the driver has freed before a fault is seen by a reference more that each packet has meanwhile. Of a packet
// whose other references go at this moment that may be wrong.
uint16_t send_some(void* queue, rte_mbuf** packets, uint16_t n) {
  uint16_t references[kMaxSent];
  for (uint16_t i = 0; i < n; ++i) {
    references[i] = rte_mbuf_refcnt_read(packets[i]);
    rte_pktmbuf_refcnt_update(packets[i], 1);
  }
  uint16_t done = 0;
  if (!without_fault(driver_send, queue, packets, n, done))
    for (done = 0; done < n && rte_mbuf_refcnt_read(packets[done]) == references[done];) ++done;
  rte_pktmbuf_free_bulk(packets, done);
  for (uint16_t i = done; i < n; ++i) rte_pktmbuf_refcnt_update(packets[i], -1);
  return done;
}

uint16_t send(void* queue, rte_mbuf** packets, uint16_t n) {
  if (is_left_alone(queue)) return 0;
  uint16_t sent = 0;
  while (sent < n) {
    const auto wanted = std::min(kMaxSent, static_cast<uint16_t>(n - sent));
    const uint16_t done = send_some(queue, packets + sent, wanted);
    sent = static_cast<uint16_t>(sent + done);
    if (done < wanted) break;
  }
  return sent;
}

}  // namespace

void survive_peer(uint16_t port) {
  static std::once_flag once;
  std::call_once(once, [] {
    sigaction(SIGSEGV, nullptr, &faults_elsewhere);
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigaction(SIGSEGV, &action, nullptr);
  });
  auto& ops = rte_eth_fp_ops[port];
  if (ops.rx_pkt_burst == receive) return;
  driver_receive = ops.rx_pkt_burst, driver_send = ops.tx_pkt_burst;
  ops.rx_pkt_burst = receive, ops.tx_pkt_burst = send;
}

}  // namespace heddle::dpdk
