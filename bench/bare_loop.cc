#include "bench/bare_loop.h"

#include <rte_ethdev.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "bench/bench.h"
#include "core/cores.h"
#include "core/huge_pages.h"
#include "io/dpdk/dpdk.h"

namespace heddle::bench {
namespace {

constexpr uint16_t kBurst = 64;  // as FromDPDKDevice; with the 32 of DPDK's examples the loop is a little slower

}  // namespace

double bare_loops_mpps(double seconds, const char* arguments, int cores,
                       const std::function<BareWork(int core)>& make) {
  struct alignas(128) Core {
    dpdk::Port *in, *out;
    BareWork work;
    std::atomic<uint64_t> received{0};
  };
  std::vector<Core> all(static_cast<size_t>(cores));
  for (int c = 0; c < cores; ++c) {
    Core& core = all[static_cast<size_t>(c)];
    core.in = dpdk::request_port("net_null" + std::to_string(2 * c) + arguments);
    core.out = dpdk::request_port("net_null" + std::to_string(2 * c + 1));
    core.in->receives = core.out->transmits = true;
    core.work = make(c);
  }
  dpdk::start_eal({}, 1);
  // The pool as the chain has it: without huge pages, rte_pktmbuf_pool_create puts every packet at the same place of a
  // 4 KB page, where their headers fight for one cache set, and the loop loses a third of its speed.
  constexpr unsigned kRoom = RTE_MBUF_DEFAULT_BUF_SIZE;
  const unsigned packets_in_all = 8192 * static_cast<unsigned>(cores) - 1;
  const size_t bytes = dpdk::pool_bytes(packets_in_all, kRoom);
  const HugePages memory = map_huge_pages(bytes);
  const auto pool = dpdk::make_pool("bare", packets_in_all, kRoom, {memory.get(), bytes});
  dpdk::start_ports(*pool, 1);
  std::atomic<bool> stop{false};
  std::vector<std::thread> loops;
  for (int c = 0; c < cores; ++c)
    loops.emplace_back([&, c] {
      Core& core = all[static_cast<size_t>(c)];
      pin_to_core(c);
      const dpdk::ThreadGuard registered;
      rte_mbuf* packets[kBurst];
      while (!stop.load(std::memory_order_relaxed)) {
        const uint16_t n = rte_eth_rx_burst(core.in->id, 0, packets, kBurst);
        if (core.work) core.work(packets, n);
        const uint16_t sent = rte_eth_tx_burst(core.out->id, 0, packets, n);
        if (sent < n) rte_pktmbuf_free_bulk(packets + sent, n - sent);
        core.received.store(core.received.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
      }
    });
  const auto total = [&] {
    uint64_t sum = 0;
    for (const Core& core : all) sum += core.received.load();
    return sum;
  };
  usleep(20000);
  const uint64_t before = total();
  const double start = seconds_now();
  usleep(static_cast<useconds_t>(seconds * 1e6));
  const double packets = static_cast<double>(total() - before), elapsed = seconds_now() - start;
  stop = true;
  for (std::thread& loop : loops) loop.join();
  dpdk::close_ports();
  return packets / elapsed * 1e-6;
}

double bare_loop_mpps(double seconds, const char* arguments,
                      const std::function<void(rte_mbuf** packets, uint16_t n)>& work) {
  return bare_loops_mpps(seconds, arguments, 1, [&](int) { return work; });
}

}  // namespace heddle::bench
