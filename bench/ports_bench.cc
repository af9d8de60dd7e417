// bounce, mirror: chains between net_null ports on one core, against a bare receive-and-transmit loop as DPDK's own
// examples write it: one burst after another, on the same kind of ports, from a pool of DPDK's own, pinned to the
// same core. gpu-ports: the mirror chain on the GPU, against the Mpps that the thesis's code reaches on an H100.

#include <rte_ethdev.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "bench/bench.h"
#include "bench/engine_run.h"
#include "core/error.h"
#include "io/dpdk/dpdk.h"

namespace heddle::bench {
namespace {

constexpr double kSeconds = 0.25;
constexpr int kRounds = 15;
constexpr uint16_t kBurst = 64;  // as FromDPDKDevice; with the 32 of DPDK's examples the loop is a little slower
constexpr size_t kHugePage = 2 << 20;

double chain_mpps(const char* element) {
  RunOptions options;
  options.pin = true;
  return engine_mpps(format("FromDPDKDevice(\"net_null0\") -> %s -> ToDPDKDevice(net_null1)", element), {}, options,
                     kSeconds);
}

// What the ratio is taken against.
double bare_loop_mpps() {
  dpdk::Port* in = dpdk::request_port("net_null0");
  dpdk::Port* out = dpdk::request_port("net_null1");
  in->receives = out->transmits = true;
  dpdk::start_eal({}, 1);
  // The pool as the chain has it: without huge pages, rte_pktmbuf_pool_create puts every packet at the same place of a
  // 4 KB page, where their headers fight for one cache set, and the loop loses a third of its speed.
  constexpr unsigned kBarePackets = 8191, kRoom = RTE_MBUF_DEFAULT_BUF_SIZE;
  const size_t bytes = (dpdk::pool_bytes(kBarePackets, kRoom) + kHugePage - 1) / kHugePage * kHugePage;
  const std::unique_ptr<std::byte, void (*)(std::byte*)> memory(
      static_cast<std::byte*>(std::aligned_alloc(kHugePage, bytes)), [](std::byte* p) { std::free(p); });
  const auto pool = dpdk::make_pool("bare", kBarePackets, kRoom, {memory.get(), bytes});
  dpdk::start_ports(*pool, 1);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> received{0};
  std::thread loop([&] {
    pin(0);
    const dpdk::ThreadGuard registered;
    rte_mbuf* packets[kBurst];
    while (!stop.load(std::memory_order_relaxed)) {
      const uint16_t n = rte_eth_rx_burst(in->id, 0, packets, kBurst);
      const uint16_t sent = rte_eth_tx_burst(out->id, 0, packets, n);
      if (sent < n) rte_pktmbuf_free_bulk(packets + sent, n - sent);
      received.store(received.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
  });
  usleep(20000);
  const uint64_t before = received.load();
  const double start = seconds_now();
  usleep(static_cast<useconds_t>(kSeconds * 1e6));
  const double packets = static_cast<double>(received.load() - before), elapsed = seconds_now() - start;
  stop = true;
  loop.join();
  dpdk::close_ports();
  return packets / elapsed * 1e-6;
}

Result against_bare_loop(const char* name, const char* element, double target) {
  return paired(
      name, "Mpps", target, kRounds, [=] { return chain_mpps(element); }, bare_loop_mpps);
}

const Register bounce("bounce", false, [] { return std::vector{against_bare_loop("bounce", "Counter", 0.90)}; });
const Register mirror("mirror", false, [] { return std::vector{against_bare_loop("mirror", "EtherMirror", 0.82)}; });

// "3.2 and 10.5 Mpps": the thesis's GPUEtherMirrorCommList on an H100 with net_null ports, one and four cores.
const Register gpu_ports("gpu-ports", true, [] {
  std::vector<Result> results;
  for (const auto& [threads, thesis] : {std::pair{1, 3.2}, std::pair{4, 10.5}}) {
    RunOptions options;
    options.pin = true;
    options.threads = threads;
    Result result = absolute(format("gpu-ports-%d", threads), "Mpps", thesis, false, 5, [&] {
      return engine_mpps("FromDPDKDevice(\"net_null0\") -> EtherMirror -> ToDPDKDevice(net_null1)", {.device = "gpu"},
                         options, 1.0);
    });
    result.target = 6.5;
    result.note = "baseline: the thesis's code, as stated";
    results.push_back(result);
  }
  return results;
});

}  // namespace
}  // namespace heddle::bench
