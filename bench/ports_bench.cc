// bounce, mirror: chains between net_null ports on one core, against a bare receive-and-transmit loop as DPDK's own
// examples write it: one burst after another, on the same kind of ports, from a pool of DPDK's own, pinned to the
// same core. gpu-ports: the mirror chain on the GPU, against the Mpps that the thesis's code reaches on an H100.

#include "bench/bare_loop.h"
#include "bench/bench.h"
#include "bench/engine_run.h"
#include "core/error.h"

namespace heddle::bench {
namespace {

constexpr double kSeconds = 0.25;
constexpr int kRounds = 15;

double chain_mpps(const char* element) {
  RunOptions options;
  options.pin = true;
  return engine_mpps(format("FromDPDKDevice(\"net_null0\") -> %s -> ToDPDKDevice(net_null1)", element), {}, options,
                     kSeconds);
}

Result against_bare_loop(const char* name, const char* element, double target) {
  return paired(
      name, "Mpps", target, kRounds, [=] { return chain_mpps(element); }, [] { return bare_loop_mpps(kSeconds); });
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
