// gpu-ways: every transport and launch mode, a light function and one that reads whole packets, between net_null ports
// on one core, against resident kernels that work in place. Launches get batches of 1,024 packets, as the thesis's
// elements do.
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

double mpps(const char* element, int size, LaunchMode launch, Transport transport) {
  RunOptions options;
  options.pin = true;
  options.batch_size = kBatch;
  const std::string batches = launch == LaunchMode::persistent ? "" : format("MinBatch(%d) -> ", kBatch - kBurst);
  return engine_mpps(format("FromDPDKDevice(\"net_null0,size=%d\") -> %s%s -> ToDPDKDevice(net_null1)", size,
                            batches.c_str(), element),
                     {.device = "gpu", .launch = launch, .transport = transport}, options, kSeconds);
}

const Register gpu_ways("gpu-ways", true, [] {
  std::vector<Result> results;
  for (const char* element : {"EtherMirror", "SetCRC32"})
    for (const int size : {64, 1460}) {
      double in_place = 0;  // Mpps
      for (size_t l = kLaunchModes.size(); l-- > 0;)
        for (size_t t = 0; t < kTransports.size(); ++t) {
          const auto launch = static_cast<LaunchMode>(l);
          const auto transport = static_cast<Transport>(t);
          if (launch == LaunchMode::persistent && copies_by_engine(transport)) continue;
          const std::string way = format("gpu-ways-%s-%d-%s-%s", element, size, name(launch), name(transport));
          Result result = absolute(way, "Mpps", in_place > 0 ? in_place : 1, false, kRounds,
                                   [&] { return mpps(element, size, launch, transport); });
          if (in_place == 0) in_place = result.value, result.ratio = result.low = result.high = 1;
          result.target = 0;  // no way is the best for all
          result.note = "against persistent, direct";
          results.push_back(result);
        }
    }
  return results;
});

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
