#include "gpu/residency.h"

#include "core/error.h"

namespace heddle::gpu {

std::string residency_problem(const std::vector<Residents>& all, const Multiprocessor& each, int multiprocessors) {
  long blocks = 0, threads = 0, registers = 0;
  size_t shared = 0;
  std::string list;
  for (const Residents& one : all) {
    if (one.blocks == 0) continue;
    const int here = (one.blocks + multiprocessors - 1) / multiprocessors;  // blocks of a kernel are spread evenly
    blocks += here;
    threads += long{here} * one.threads;
    registers += long{here} * one.registers;
    shared += static_cast<size_t>(here) * one.shared_bytes;
    list += format("%s%d %s", list.empty() ? "" : ", ", one.blocks, one.what.c_str());
  }
  std::string lacking;
  const auto check = [&](const char* what, double needed, double available) {
    if (needed > available)
      lacking += format("%s%.0f of %.0f %s", lacking.empty() ? "" : ", ", needed, available, what);
  };
  check("blocks", static_cast<double>(blocks), each.blocks);
  check("threads", static_cast<double>(threads), each.threads);
  check("registers", static_cast<double>(registers), each.registers);
  check("bytes of shared memory", static_cast<double>(shared), static_cast<double>(each.shared_bytes));
  if (lacking.empty()) return {};
  return format("%s do not fit on %d multiprocessors at once: each would need %s", list.c_str(), multiprocessors,
                lacking.c_str());
}

}  // namespace heddle::gpu
