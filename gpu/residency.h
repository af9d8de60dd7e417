#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace heddle::gpu {

constexpr size_t kReservedSharedBytes = 1024;  ///< that CUDA keeps for each block

/** What a multiprocessor has for the blocks that reside on it. */
struct Multiprocessor {
  int blocks, threads, registers;
  size_t shared_bytes;
};

/** Blocks of one kernel that shall be resident, and what each needs. */
struct Residents {
  std::string what;  ///< for messages: "slots of 4 warps"
  int blocks, threads, registers;
  size_t shared_bytes;      ///< with what CUDA keeps
  int step = 0, least = 0;  ///< where there is no room for all: so many blocks fewer, and again, down to `least`
};

/** Whether all of them fit on `multiprocessors` at the same time, whichever come first: blocks of resident kernels that
 *  wait for room would wait for ever. "" or what does not fit, and how much of it there is. */
std::string residency_problem(const std::vector<Residents>& all, const Multiprocessor& each, int multiprocessors);

/** The same; kernels that can do with fewer blocks get fewer if need be, and `all` tells. */
std::string find_room(std::vector<Residents>& all, const Multiprocessor& each, int multiprocessors);

/** Streams that share one of a device's hardware queues wait for each other, and what waits for a kernel that stays
 *  waits without end: so each of `streams` must have one of the `queues` if any kernel stays. "" or what is wrong. */
std::string queue_problem(size_t streams, size_t queues);

/** Whether a block of one takes as much of each as a block of any other. */
bool are_alike(const std::vector<Residents>& all);

}  // namespace heddle::gpu
