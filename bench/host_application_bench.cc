// host-application: what packets on a GPU cost a program beside them (GPU-Ether, section V.E and table I). The program
// multiplies two matrices of integers, which with their product fill the last-level cache, on a core of its own.

#include <unistd.h>

#include <cmath>
#include <numeric>
#include <optional>
#include <thread>

#include "bench/bench.h"
#include "bench/engine_run.h"
#include "bench/probe.h"
#include "bench/ring_rig.h"
#include "core/cores.h"
#include "core/error.h"

namespace heddle::bench {
namespace {

constexpr int kPeerCore = 0;  // and the engine's, which pins its thread; the application has the last one

/** Edge of three square matrices of 32-bit numbers that fill the last-level cache. */
int edge_of_cache() {
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return static_cast<int>(std::sqrt((bytes > 0 ? static_cast<double>(bytes) : 32e6) / (3 * sizeof(int32_t))));
}

/** Milliseconds for the first `rows` rows of the product. Every row goes through the whole second matrix. */
double multiply(int edge, int rows) {
  const auto n = static_cast<size_t>(edge);
  std::vector<uint32_t> a(n * n), b(n * n), product(n * n);
  std::iota(a.begin(), a.end(), 1), std::iota(b.begin(), b.end(), 7);
  const double start = seconds_now();
  for (size_t i = 0; i < static_cast<size_t>(rows); ++i)
    for (size_t k = 0; k < n; ++k)
      for (size_t j = 0; j < n; ++j) product[i * n + j] += a[i * n + k] * b[k * n + j];
  const double ms = 1e3 * (seconds_now() - start);
  uint32_t wanted = 0;
  for (size_t k = 0; k < n; ++k) wanted += a[k] * b[k * n + n - 1];
  if (product[n - 1] != wanted) throw Error("the product is wrong");
  return ms;
}

/** A peer that recirculates prefilled rings, as in gpu-rings: it moves indices and touches no packet. */
class Peer {
 public:
  explicit Peer(PeerEnd& end)
      : thread_([this, &end] {
          pin_to_core(kPeerCore);
          while (!stop_.load(std::memory_order_relaxed)) {
            if (const int n = end.waiting(); n > 0) end.give_back(n);
            if (const int n = end.room(); n > 0) end.pass_on(n);
          }
        }) {}
  ~Peer() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/** What goes on beside the application; packets are counted from its start. "peer": the peer of "rings" with nothing at
 *  the other end, so that it polls rings in which nothing moves: what its core costs by itself is to be subtracted from
 *  "rings". */
class Beside {
 public:
  Beside(const std::string& what, const std::string& device, int bytes) {
    if (what == "rings" || what == "peer") {
      RingRig::Options options;
      options.device = device, options.capacity = static_cast<uint32_t>(bytes);
      rig_.emplace(options);
      rig_->each_buffer([&](uint8_t* frame) { std::fill_n(frame, bytes, uint8_t{0x5a}); });
      if (what == "peer") rig_->pause();
      peer_.emplace(rig_->end(0));
    } else if (what != "idle") {
      PlanOptions plan;
      plan.set_device(device);
      plan.launch = LaunchMode::async;
      if (what == "dpdk") plan.transport = Transport::coalescent;
      RunOptions options;
      options.pin = true;
      engine_ = make_engine(
          format(what == "dpdk" ? "FromDPDKDevice(\"net_null0,size=%d\") -> MinBatch(480) -> EtherMirror -> "
                                  "ToDPDKDevice(net_null0)"
                                : "FromGPUPort(a, SOFTNIC \"net_null0,size=%d\", NDESC 4096) -> "
                                  "EtherMirror -> ToGPUPort(a)",
                 bytes),
          plan, options);
      engine_->start();
    }
  }
  ~Beside() {
    if (engine_) end(*engine_);
  }
  uint64_t packets() { return rig_ ? rig_->end(0).got() : engine_ ? engine_->received() : 0; }

 private:
  std::optional<RingRig> rig_;
  std::optional<Peer> peer_;
  std::unique_ptr<Engine> engine_;
};

std::vector<Probe::Value> application(Probe::Parameters& parameters) {
  const std::string what = parameters.text("beside", "idle", {"idle", "peer", "rings", "soft-nic", "dpdk"});
  const std::string device = parameters.text("device", "gpu", {"gpu", "simt"});
  const int bytes = parameters.number("size", 1024, 64, 1514), edge = parameters.number("edge", 0, 0, 20000);
  const int n = edge == 0 ? edge_of_cache() : edge, rows = std::min(n, parameters.number("rows", 200, 1, 20000));
  Beside beside(what, device, bytes);
  double ms = 0, mpps = 0;
  std::thread([&] {
    pin_to_core(core_count() - 1);
    multiply(n, 1);  // the cache is warm, and packets flow
    const uint64_t before = beside.packets();
    ms = multiply(n, rows);
    mpps = static_cast<double>(beside.packets() - before) / (1e3 * ms);
  }).join();
  return {{"elapsed_ms", "ms", ms}, {"mpps", "Mpps", mpps}};
}
const RegisterProbe host_application("host-application", application);

}  // namespace
}  // namespace heddle::bench
