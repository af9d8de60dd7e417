// gpu-ways-32, -256, -1024: every transport and launch mode, a light function and one that reads whole packets, between
// net_null ports on one core, against resident kernels that work in place; in batches of so many packets, which
// MinBatch gathers from bursts of 32.
//
// gpu-workers: two threads for the ports and a master for the GPU (--workers) against three threads that do everything
// each (the thesis's "full path").

#include "bench/bench.h"
#include "bench/engine_run.h"
#include "core/error.h"

namespace heddle::bench {
namespace {

constexpr double kSeconds = 0.25;
constexpr int kRounds = 2;
constexpr int kBurst = 32, kBatch = 1024;

// The chain with batches of `batch` packets before the element.
std::string chain_of(const char* element, int size, int batch) {
  return format("FromDPDKDevice(\"net_null0,size=%d\", BURST %d) -> %s%s -> ToDPDKDevice(net_null1)", size, kBurst,
                batch > kBurst ? format("MinBatch(%d) -> ", batch).c_str() : "", element);
}

double mpps(const char* element, int size, int batch, LaunchMode launch, Transport transport) {
  RunOptions options;
  options.pin = true;
  options.batch_size = batch;
  return engine_mpps(chain_of(element, size, batch), {.device = "gpu", .launch = launch, .transport = transport},
                     options, kSeconds);
}

std::vector<Result> ways(int batch) {
  std::vector<Result> results;
  for (const char* element : {"EtherMirror", "SetCRC32"})
    for (const int size : {64, 1460}) {
      double in_place = 0;  // Mpps
      for (size_t l = kLaunchModes.size(); l-- > 0;)
        for (size_t t = 0; t < kTransports.size(); ++t) {
          const auto launch = static_cast<LaunchMode>(l);
          const auto transport = static_cast<Transport>(t);
          if (launch == LaunchMode::persistent && copies_by_engine(transport)) continue;
          const std::string way =
              format("gpu-ways-%d-%s-%d-%s-%s", batch, element, size, name(launch), name(transport));
          Result result = absolute(way, "Mpps", in_place > 0 ? in_place : 1, false, kRounds,
                                   [&] { return mpps(element, size, batch, launch, transport); });
          if (in_place == 0) in_place = result.value, result.ratio = result.low = result.high = 1;
          result.target = 0;  // no way is the best for all
          result.note = "against persistent, direct, in batches as large";
          results.push_back(result);
        }
    }
  return results;
}

const Register gpu_ways_32("gpu-ways-32", true, [] { return ways(32); }),
    gpu_ways_256("gpu-ways-256", true, [] { return ways(256); }),
    gpu_ways_1024("gpu-ways-1024", true, [] { return ways(kBatch); });

double with_three_threads(const char* element, int size, const PlanOptions& plan, RunOptions options) {
  const bool resident = plan.launch == LaunchMode::persistent;
  options.threads = 3;
  return engine_mpps(format("FromDPDKDevice(\"net_null0,size=%d\") -> %s%s -> ToDPDKDevice(net_null1)", size,
                            resident ? "" : format("MinBatch(%d) -> ", kBatch - kBurst).c_str(), element),
                     plan, options, kSeconds);
}

const Register gpu_workers("gpu-workers", true, [] {
  std::vector<Result> results;
  for (const LaunchMode launch : {LaunchMode::persistent, LaunchMode::async})
    for (const char* element : {"EtherMirror", "SetCRC32"})
      for (const int size : {64, 1460}) {
        RunOptions options;
        options.pin = true;
        options.batch_size = kBatch;
        const PlanOptions each{.device = "gpu", .launch = launch};
        PlanOptions master = each;
        master.workers = true;
        results.push_back(paired(
            format("gpu-workers-%s-%d-%s", element, size, name(launch)), "Mpps", 0, 5,
            [&] { return with_three_threads(element, size, master, options); },
            [&] { return with_three_threads(element, size, each, options); }));
        results.back().note = "two workers and a master against three threads for themselves";
      }
  return results;
});

}  // namespace
}  // namespace heddle::bench
