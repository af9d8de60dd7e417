// gpu-ways: every transport and launch mode, a light function and one that reads whole packets, between net_null ports on one
// core, against resident kernels that work in place. Launches get batches of 1,024 packets, as the thesis's elements do.
//
// gpu-workers: two threads for the ports and a master for the GPU, as chains/master_workers.click, against three threads that do
// everything each (the thesis's "full path").

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

constexpr int kWorkers = 2;

double with_master(const char* element, int size, const PlanOptions& plan, RunOptions options) {
  const bool resident = plan.launch == LaunchMode::persistent;
  std::string chain = format("m :: Pipeliner(8192) -> %s%s -> back :: PaintSwitch; StaticThreadSched(m %d",
                             resident ? "" : format("MinBatch(%d) -> ", kBatch - kBurst).c_str(), element, kWorkers);
  for (int w = 0; w < kWorkers; ++w) chain += format(", in%d %d, to%d %d", w, w, w, w);
  chain += ");";
  for (int w = 0; w < kWorkers; ++w)
    chain += format(
        "in%d :: FromDPDKDevice(\"net_null%d,size=%d\") -> Paint(%d) -> m;"
        "back[%d] -> to%d :: Pipeliner(8192) -> ToDPDKDevice(net_null%d);",
        w, w, size, w, w, w, kWorkers + w);
  options.threads = kWorkers + 1;
  return engine_mpps(chain, plan, options, kSeconds);
}

double without_master(const char* element, int size, const PlanOptions& plan, RunOptions options) {
  const bool resident = plan.launch == LaunchMode::persistent;
  options.threads = kWorkers + 1;
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
        const PlanOptions plan{.device = "gpu", .launch = launch};
        results.push_back(paired(
            format("gpu-workers-%s-%d-%s", element, size, name(launch)), "Mpps", 0, 5,
            [&] { return with_master(element, size, plan, options); },
            [&] { return without_master(element, size, plan, options); }));
        results.back().note = "two workers and a master against three threads for themselves";
      }
  return results;
});

}  // namespace
}  // namespace heddle::bench
