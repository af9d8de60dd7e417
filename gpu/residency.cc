#include "gpu/residency.h"

#include <algorithm>
#include <tuple>

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

/** Places them in the order of `all`; "" or what lacks room. */
std::string place(const std::vector<Residents>& all, const Multiprocessor& each, int multiprocessors) {
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

/** Takes blocks from the kernel that has the most of those that can do with fewer; false: none can. */
bool take_blocks(std::vector<Residents>& all) {
  const auto spare = [](const Residents& one) { return one.step > 0 && one.blocks - one.step >= one.least; };
  const auto most =
      std::ranges::max_element(all, {}, [&](const Residents& one) { return spare(one) ? one.blocks : 0; });
  if (most == all.end() || !spare(*most)) return false;
  most->blocks -= most->step;
  return true;
}

}  // namespace

std::string residency_problem(const std::vector<Residents>& all, const Multiprocessor& each, int multiprocessors) {
  const std::string problem = place(all, each, multiprocessors);
  // Kernels between rings begin anew when a peer comes, so any may be the last.
  return problem.empty() ? place({all.rbegin(), all.rend()}, each, multiprocessors) : problem;
}

std::string find_room(std::vector<Residents>& all, const Multiprocessor& each, int multiprocessors) {
  for (;;) {
    std::string problem = residency_problem(all, each, multiprocessors);
    if (problem.empty() || !take_blocks(all)) return problem;
  }
}

std::string queue_problem(size_t streams, size_t queues) {
  if (streams <= queues) return "";
  return format(
      "%zu streams are wanted beside kernels that stay, and there are %zu hardware queues "
      "(CUDA_DEVICE_MAX_CONNECTIONS, at most 32); a stream that shares one with such a kernel would wait for "
      "ever",
      streams, queues);
}

bool are_alike(const std::vector<Residents>& all) {
  const auto needs = [](const Residents& one) { return std::tuple(one.threads, one.registers, one.shared_bytes); };
  return std::ranges::all_of(all, [&](const Residents& one) { return needs(one) == needs(all.front()); });
}

}  // namespace heddle::gpu
