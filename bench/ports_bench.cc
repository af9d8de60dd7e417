// bounce, mirror: chains between net_null ports on one core, against a bare receive-and-transmit loop as DPDK's own
// examples write it: one burst after another, on the same kind of ports, from a pool of DPDK's own, pinned to the
// same core. gpu-ports: mirror and CRC on the GPU, against the Mpps that the thesis's code reaches on an H100.
// gpu-ports-bare: the same, against bare loops on as many cores.

#include "bench/bare_loop.h"
#include "bench/bench.h"
#include "bench/engine_run.h"
#include "core/cores.h"
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

// The light function, and one that reads whole packets.
constexpr const char* kFunctions[] = {"EtherMirror", "SetCRC32"};
const char* word_of(std::string_view function) { return function == "EtherMirror" ? "" : "-crc"; }

double on_gpu_mpps(const char* function, int threads, double seconds) {
  RunOptions options;
  options.pin = true;
  options.threads = threads;
  return engine_mpps(format("FromDPDKDevice(\"net_null0\") -> %s -> ToDPDKDevice(net_null1)", function),
                     {.device = "gpu"}, options, seconds);
}

// "3.2 and 10.5 Mpps": the thesis's GPUEtherMirrorCommList on an H100 with net_null ports, one and four cores. For its
// GPUSetCRC32CommList no figure is stated; it does the same and reads all of each packet besides, so that mirror's is
// the harder one.
const Register gpu_ports("gpu-ports", true, [] {
  std::vector<Result> results;
  for (const char* function : kFunctions)
    for (const auto& [threads, thesis] : {std::pair{1, 3.2}, std::pair{4, 10.5}}) {
      Result result = absolute(format("gpu-ports%s-%d", word_of(function), threads), "Mpps", thesis, false, 5,
                               [&, threads = threads] { return on_gpu_mpps(function, threads, 1.0); });
      result.target = 9;
      result.note = format("%s; baseline: the thesis's mirror, as stated", function);
      results.push_back(result);
    }
  return results;
});

// Cores that the machine has not are left out.
const Register gpu_ports_bare("gpu-ports-bare", true, [] {
  std::vector<Result> results;
  for (const char* function : kFunctions)
    for (const int threads : {1, 2, 4, 8}) {
      if (threads > core_count()) continue;
      results.push_back(paired(
          format("gpu-ports-bare%s-%d", word_of(function), threads), "Mpps", 0.5, 5,
          [&] { return on_gpu_mpps(function, threads, kSeconds); },
          [&] { return bare_loops_mpps(kSeconds, "", threads, [](int) { return BareWork(); }); }));
      results.back().note = format("%s on the GPU; baseline: bare loops on as many cores", function);
    }
  return results;
});

}  // namespace
}  // namespace heddle::bench
