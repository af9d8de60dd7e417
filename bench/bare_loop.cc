#include "bench/bare_loop.h"

#include <rte_ethdev.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "bench/bench.h"
#include "core/cores.h"
#include "core/huge_pages.h"
#include "io/dpdk/dpdk.h"

namespace heddle::bench {
namespace {

constexpr uint16_t kBurst = 64;  // as FromDPDKDevice; with the 32 of DPDK's examples the loop is a little slower

}  // namespace

double bare_loop_mpps(double seconds, const char* arguments,
                      const std::function<void(rte_mbuf** packets, uint16_t n)>& work) {
  dpdk::Port* in = dpdk::request_port(std::string("net_null0") + arguments);
  dpdk::Port* out = dpdk::request_port("net_null1");
  in->receives = out->transmits = true;
  dpdk::start_eal({}, 1);
  // The pool as the chain has it: without huge pages, rte_pktmbuf_pool_create puts every packet at the same place of a
  // 4 KB page, where their headers fight for one cache set, and the loop loses a third of its speed.
  constexpr unsigned kBarePackets = 8191, kRoom = RTE_MBUF_DEFAULT_BUF_SIZE;
  const size_t bytes = dpdk::pool_bytes(kBarePackets, kRoom);
  const HugePages memory = map_huge_pages(bytes);
  const auto pool = dpdk::make_pool("bare", kBarePackets, kRoom, {memory.get(), bytes});
  dpdk::start_ports(*pool, 1);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> received{0};
  std::thread loop([&] {
    pin_to_core(0);
    const dpdk::ThreadGuard registered;
    rte_mbuf* packets[kBurst];
    while (!stop.load(std::memory_order_relaxed)) {
      const uint16_t n = rte_eth_rx_burst(in->id, 0, packets, kBurst);
      if (work) work(packets, n);
      const uint16_t sent = rte_eth_tx_burst(out->id, 0, packets, n);
      if (sent < n) rte_pktmbuf_free_bulk(packets + sent, n - sent);
      received.store(received.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
  });
  usleep(20000);
  const uint64_t before = received.load();
  const double start = seconds_now();
  usleep(static_cast<useconds_t>(seconds * 1e6));
  const double packets = static_cast<double>(received.load() - before), elapsed = seconds_now() - start;
  stop = true;
  loop.join();
  dpdk::close_ports();
  return packets / elapsed * 1e-6;
}

}  // namespace heddle::bench
