#pragma once

#include <string>
#include <vector>

namespace heddle::gpu {

/** What a multiprocessor has for the blocks that reside on it. */
struct Multiprocessor {
  int blocks, threads, registers;
  size_t shared_bytes;
};

/** Blocks of one kernel that shall be resident, and what each needs. */
struct Residents {
  std::string what;  ///< for messages: "slots of 4 warps"
  int blocks, threads, registers;
  size_t shared_bytes;
};

/** Whether all of them fit on `multiprocessors` at the same time, however they are spread: blocks of resident kernels
 *  that wait for room would wait for ever. "" or what does not fit, and how much of it there is. */
std::string residency_problem(const std::vector<Residents>& all, const Multiprocessor& each, int multiprocessors);

}  // namespace heddle::gpu
