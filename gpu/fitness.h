#pragma once

#include <cstdint>

#include "gpu/device.h"

namespace heddle::gpu {

/** Which processes a GPU lets use it; its owner sets that (nvidia-smi -c). */
enum class ComputeMode : uint8_t { shared, exclusive, prohibited };

/** That of a GPU of devices(). Takes nothing of the GPU. */
ComputeMode compute_mode(const DeviceInfo& gpu);

/** What this program's kernels have been compiled for, as CMake has it, with commas between: "80-real,90" is machine
 *  code for compute capabilities 8.0 and 9.0, and PTX for 9.0. "": no CUDA. */
const char* kernel_architectures();

namespace cuda_backend {
ComputeMode compute_mode(int index);
}  // namespace cuda_backend

}  // namespace heddle::gpu
