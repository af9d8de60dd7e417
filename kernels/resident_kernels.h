#pragma once

#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "gpu/device.h"
#include "gpu/residency.h"
#include "kernels/arena.h"
#include "kernels/backend.h"
#include "kernels/device_memory.h"
#include "kernels/gather.cuh"

namespace heddle::gpu {
namespace HEDDLE_GPU_BACKEND {

/** How slots are launched. */
struct SlotLaunch {
  size_t shape;
  size_t shared_bytes;  ///< of a block, dynamic
  PacketPlaces places;
};

/** The kernels of a device that take slots through programs, one for each number of warps that a block may have (a
 *  shape): resident with the slots that are theirs, or launched for some. One thread at a time uses it, with the device
 *  current; any calls launch(). */
class ResidentKernels {
 public:
  /** Loads the kernels. `name`: of the device, for messages. */
  ResidentKernels(const cudaDeviceProp& properties, std::string name, DeviceMemory& memory);
  ~ResidentKernels();
  ResidentKernels(const ResidentKernels&) = delete;
  ResidentKernels& operator=(const ResidentKernels&) = delete;

  /** The shape for segments that want so many warps. */
  static size_t shape_of(int warps);
  int registers() const { return shapes_[0].registers; }  ///< of a thread, with one warp
  size_t local_bytes() const { return local_bytes_; }
  /** Dynamic shared memory that a program may want of a block now, bytes. */
  size_t most_shared_bytes(size_t shape) const {
    return shapes_[shape].resident ? shapes_[shape].shared_bytes : shapes_[shape].most_shared_bytes;
  }

  /** Slots, pinned, for programs that want `shared_bytes` of a block. `launched`: others launch kernels for them; else
   *  a resident kernel has them. Once those run, spare slots are what is left. Throws Error if there are too few. */
  Slot* add_slots(size_t shape, int count, bool launched, size_t column_words, size_t shared_bytes);
  /** Whether settle() has put slots on the device. */
  bool settled() const;
  size_t streams() const { return shapes_.size(); }
  /** Makes `spare` slots of each shape that has any, whose programs may want `shared_bytes`. Returns what is going to
   *  be resident, by kernel. */
  std::vector<Residents> prepare(int spare, size_t shared_bytes);
  /** A block of each kernel that is launched beside those. */
  std::vector<Residents> launches() const;
  /** Puts what blocks serve on the device; `beside_others` as set_carveout() has it. After prepare(). */
  void settle(bool beside_others);
  /** Starts the resident kernels, with what settle() has put on the device. */
  void start(const PacketPlaces& places);
  void stop();
  bool running() const;
  /** "", or of what they have died. */
  std::string death() const;

  /** Launches `count` slots from `slots` on. */
  static void launch(const SlotLaunch& how, Slot* slots, int count, cudaStream_t stream);
  /** The same from the next launch of `graph` on, of which `node` is such a launch. */
  static void relaunch(const SlotLaunch& how, Slot* slots, int count, cudaGraphExec_t graph, cudaGraphNode_t node);

 private:
  /** Blocks with a number of warps: a kernel. */
  struct Shape {
    int registers = 0;  // of a thread
    size_t static_shared_bytes = 0, most_shared_bytes = 0;
    cudaStream_t stream{};
    std::vector<Assignment> assignments;
    size_t shared_bytes = 0;
    size_t launched_shared_bytes = 0;  // of the blocks of launches
    bool launched = false;
    Slot* spare = nullptr;
    int spare_left = 0;
    Assignment* on_device = nullptr;  // the assignments, once start() has been called
    bool resident = false;
  };

  /** What `blocks` blocks of a shape need; `what`: that they serve, for messages. */
  Residents residents_of(size_t shape, int blocks, size_t shared_bytes, const char* what) const;
  Slot* take_slots(int count, size_t column_words);
  /** Gives `count` slots, a group, to blocks of `shape`. */
  void assign(Shape& shape, Slot* slots, int count);

  const std::string name_;
  DeviceMemory& memory_;
  Arena pinned_, lasting_;
  size_t local_bytes_ = 0;
  std::vector<Shape> shapes_;  // by index of kShapes
  bool started_ = false;
};

}  // namespace HEDDLE_GPU_BACKEND
}  // namespace heddle::gpu
