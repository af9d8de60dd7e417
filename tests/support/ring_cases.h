#pragma once

#include <string>
#include <vector>

#include "tests/support/harness.h"

/** What tests of rings are run with: each device, with the GPU's end as the owner of the buffers and without (bench/ring_rig.h). */
namespace heddle::test {

struct RingCase {
  std::string device;
  bool owner;
};

inline std::vector<RingCase> ring_cases() {
  std::vector<RingCase> list;
  for (const Backend& backend : gpu_backends())
    if (backend.launch == LaunchMode::persistent && backend.transport == Transport::direct)  // each device once
      for (const bool owner : {true, false}) list.push_back({backend.device, owner});
  return list;
}

/** In the names of tests. */
inline std::string name_of(const testing::TestParamInfo<RingCase>& info) {
  return info.param.device + (info.param.owner ? "_client" : "_server");
}

}  // namespace heddle::test
