#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "gpu/device.h"
#include "kernels/backend.h"
#include "kernels/gather.cuh"

namespace heddle::gpu::HEDDLE_GPU_BACKEND {

/** A group of slots that launches serve, and its streams, on each of which one thing is done behind the other. The
 *  device is current for the calling thread; one thread uses it. */
class LaunchGroup {
 public:
  /** Launches `count` slots from `slots` on. */
  using Launch = std::function<void(Slot* slots, int count, cudaStream_t stream)>;

  LaunchGroup(const SlotGroup& slots, int streams);
  ~LaunchGroup();
  LaunchGroup(const LaunchGroup&) = delete;
  LaunchGroup& operator=(const LaunchGroup&) = delete;

  const SlotGroup& slots() const { return slots_; }

  /** Copies between packets and their twins; returns at once. */
  void copy(const PacketPlaces& places, std::span<const PacketBytes> bytes, bool to_gpu, int stream);
  /** Makes graphs of what `launch` does for each `count` slots; waits for resident kernels. */
  void make_graphs(int count, const Launch& launch);
  /** Launches the graph of these slots, or, if there is none, calls `launch`. */
  void launch(int first, int count, int stream, const Launch& launch);
  /** Whether all that has been asked for on `stream` is done. */
  bool idle(int stream) const;
  void wait(int stream) const;

 private:
  cudaStream_t at(int stream) const { return streams_[static_cast<size_t>(stream)]; }

  SlotGroup slots_;
  std::vector<cudaStream_t> streams_;
  std::map<std::pair<int, int>, cudaGraphExec_t> graphs_;  // by first slot and count
};

}  // namespace heddle::gpu::HEDDLE_GPU_BACKEND
