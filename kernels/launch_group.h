#pragma once

#include <cuda_runtime.h>

#include <span>
#include <vector>

#include "gpu/device.h"
#include "kernels/backend.h"
#include "kernels/gather.cuh"
#include "kernels/resident_kernels.h"

namespace heddle::gpu::HEDDLE_GPU_BACKEND {

/** A group of slots that launches serve, and its streams, on each of which one thing is done behind the other. The
 *  device is current for the calling thread; one thread uses it. */
class LaunchGroup {
 public:
  LaunchGroup(const SlotGroup& slots, int streams);
  ~LaunchGroup();
  LaunchGroup(const LaunchGroup&) = delete;
  LaunchGroup& operator=(const LaunchGroup&) = delete;

  const SlotGroup& slots() const { return slots_; }
  size_t streams() const { return streams_.size(); }

  /** Copies between packets and their twins; returns at once. */
  void copy(const PacketPlaces& places, std::span<const PacketBytes> bytes, bool to_gpu, int stream);
  /** From now on each stream's launches are launches of a CUDA graph, which is made here. Making one waits for resident
   *  kernels. */
  void make_graphs(const SlotLaunch& how);
  /** Launches slots [first, first + count). */
  void launch(int first, int count, int stream, const SlotLaunch& how);
  /** Whether all that has been asked for on `stream` is done. */
  bool idle(int stream) const;
  void wait(int stream) const;

 private:
  /** Launches some slots, now these: it learns of others when it is to launch them. What it has launched before does
   *  not notice. */
  struct Graph {
    cudaGraph_t recorded{};
    cudaGraphExec_t executable{};
    cudaGraphNode_t kernel{};
    int first = 0, count = 0;
  };

  cudaStream_t at(int stream) const { return streams_[static_cast<size_t>(stream)]; }

  SlotGroup slots_;
  std::vector<cudaStream_t> streams_;
  std::vector<Graph> graphs_;  // by stream; or none
};

}  // namespace heddle::gpu::HEDDLE_GPU_BACKEND
