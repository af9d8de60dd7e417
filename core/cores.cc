#include "core/cores.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

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

void pin_to_core(int k) {
  const std::vector<int> cores = allowed_cores();
  if (k < 0 || static_cast<size_t>(k) >= cores.size()) return;
  cpu_set_t mine;
  CPU_ZERO(&mine);
  CPU_SET(static_cast<size_t>(cores[static_cast<size_t>(k)]), &mine);
  pthread_setaffinity_np(pthread_self(), sizeof mine, &mine);
}

}  // namespace heddle
