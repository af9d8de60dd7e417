#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace heddle {

/** What an element is besides if the host looks at what its GPU side keeps: the function's State (gpu/registry.cuh), or
 *  several. */
class KeepsGpuState {
 public:
  virtual ~KeepsGpuState() = default;

  /** How many State there are, one behind the other; asked after start(). */
  virtual size_t gpu_states() const { return 1; }

  /** What they begin with, from the first on; asked when a GPU gets them, which is after take_state(). What is missing
   *  is zero. */
  virtual std::span<const std::byte> first_gpu_state() const { return {}; }

  /** What of it the CPU side does by and cannot know, for people ("the servers of flows"); empty: nothing. With it the
   *  load must not move packets from side to side: the plan refuses DEVICE auto. */
  virtual std::string hidden_from_cpu() const { return {}; }

  /** Copies [offset, offset + to.size()) of them as of now, words of 8 bytes whole; false: the GPU has failed or is
   *  gone. The engine sets it before packets flow; empty if the element is on no GPU. Any thread. */
  std::function<bool(size_t offset, std::span<std::byte> to)> read_gpu_state;
};

}  // namespace heddle
