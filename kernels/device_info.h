#pragma once

#include <cuda_runtime.h>

#include "gpu/device.h"
#include "kernels/backend.h"

namespace heddle::gpu::HEDDLE_GPU_BACKEND {

/** What is known of device `index` before it is opened. */
DeviceInfo describe(int index, const cudaDeviceProp& properties);

}  // namespace heddle::gpu::HEDDLE_GPU_BACKEND
