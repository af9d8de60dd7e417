#include "gpu/residency.h"

#include <algorithm>

#include "core/error.h"

namespace heddle::gpu {
namespace {

/** What is left of a multiprocessor. */
struct Left {
  int blocks, threads, registers;
  size_t shared_bytes;
  bool fits(const Residents& one) const {
    return blocks > 0 && threads >= one.threads && registers >= one.registers && shared_bytes >= one.shared_bytes;
  }
  void take(const Residents& one) {
    --blocks, threads -= one.threads, registers -= one.registers, shared_bytes -= one.shared_bytes;
  }
};

}  // namespace

std::string residency_problem(const std::vector<Residents>& all, const Multiprocessor& each, int multiprocessors) {
  std::vector<Left> left(static_cast<size_t>(multiprocessors),
                         {each.blocks, each.threads, each.registers, each.shared_bytes});
  std::string list;
  const Residents* lacks = nullptr;  // the first kernel without room
  int placed = 0;                    // of its blocks
  for (const Residents& one : all) {
    if (one.blocks == 0) continue;
    list += format("%s%d %s", list.empty() ? "" : ", ", one.blocks, one.what.c_str());
    for (int b = 0; b < one.blocks && lacks == nullptr; ++b) {
      // The hardware gives a block to the multiprocessor with the most room.
      const auto most = std::max_element(left.begin(), left.end(), [&](const Left& x, const Left& y) {
        return std::pair(x.fits(one), x.registers) < std::pair(y.fits(one), y.registers);
      });
      if (!most->fits(one))
        lacks = &one, placed = b;
      else
        most->take(one);
    }
  }
  if (lacks == nullptr) return {};
  return format(
      "%s do not fit on %d multiprocessors at once: there is room for %d of %d %s (each needs %d threads, %d "
      "registers, %zu bytes of shared memory; a multiprocessor has %d, %d, %zu)",
      list.c_str(), multiprocessors, placed, lacks->blocks, lacks->what.c_str(), lacks->threads, lacks->registers,
      lacks->shared_bytes, each.threads, each.registers, each.shared_bytes);
}

}  // namespace heddle::gpu
