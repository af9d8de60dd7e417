#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "bench/ring_rig.h"
#include "gpu/rings.h"
#include "tests/support/harness.h"
#include "tests/support/patience.h"

/** What tests of rings are run with: each device, with the GPU's end as the owner of the buffers and without
 *  (bench/ring_rig.h), with a pair's warps in several blocks, with three kernels, and with that which could have
 *  several transmitting rings. */
namespace heddle::test {

struct RingCase {
  std::string device;
  bool owner, spread, split, routed;
  int outputs() const { return routed ? 1 : 0; }
  int workers() const { return gpu::kMaxRingWorkers + (spread ? 2 : 0); }
};

inline std::vector<RingCase> ring_cases() {
  std::vector<RingCase> list;
  for (const Backend& backend : gpu_backends())
    if (backend.launch == LaunchMode::persistent && backend.transport == Transport::direct)  // each device once
      for (const auto& [owner, spread, split, routed] : {std::tuple(true, false, false, false),
                                                         {false, false, false, false},
                                                         {true, true, false, false},
                                                         {true, false, true, false},
                                                         {false, false, true, false},
                                                         {true, false, false, true},
                                                         {false, false, false, true}})
        list.push_back({backend.device, owner, spread, split, routed});
  return list;
}

/** In the names of tests. */
inline std::string name_of(const testing::TestParamInfo<RingCase>& info) {
  return info.param.device + (info.param.owner ? "_client" : "_server") + (info.param.spread ? "_spread" : "") +
         (info.param.split ? "_split" : "") + (info.param.routed ? "_routed" : "");
}

/** The kernel's counts once they say where each of `frames` went: peers see a frame before it is counted, and do not
 *  see those that are dropped. Read once more then: what was received is read before what became of it. */
inline bench::RingRig::Counts counts_of(bench::RingRig& rig, uint64_t frames) {
  auto became = [&rig] {
    const auto counts = rig.counts();
    return counts.sent + counts.dropped;
  };
  Patience patience;
  for (uint64_t now; (now = became()) < frames && !patience.is_over(now);) continue;
  return rig.counts();
}

}  // namespace heddle::test
