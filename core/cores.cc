#include "core/cores.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace heddle {

std::vector<int> allowed_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> cores;
  if (sched_getaffinity(getpid(), sizeof allowed, &allowed) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  return cores;
}

int core_count() { return std::max(1, static_cast<int>(allowed_cores().size())); }

int core_of_node(int node, int which) {
  const std::string folder = "/sys/devices/system/node/node" + std::to_string(node) + "/cpu";
  const bool nodes_known = access("/sys/devices/system/node/node0", F_OK) == 0;
  const std::vector<int> cores = allowed_cores();
  for (size_t place = 0; place < cores.size(); ++place) {
    const bool here = nodes_known ? access((folder + std::to_string(cores[place])).c_str(), F_OK) == 0 : node == 0;
    if (here && which-- == 0) return static_cast<int>(place);
  }
  return -1;
}

void pin_to_core(int k) {
  const std::vector<int> cores = allowed_cores();
  if (k < 0 || static_cast<size_t>(k) >= cores.size()) return;
  cpu_set_t mine;
  CPU_ZERO(&mine);
  CPU_SET(static_cast<size_t>(cores[static_cast<size_t>(k)]), &mine);
  pthread_setaffinity_np(pthread_self(), sizeof mine, &mine);
}

}  // namespace heddle
