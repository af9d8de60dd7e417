#pragma once

#include <cstddef>

namespace heddle::simt {

/** From now on the device is as one whose kernel has died: what runs ends where it is, nothing else runs, and calls
 *  that launch or wait give cudaErrorLaunchFailure. For tests; for good. */
void lose_device(int device);
bool is_lost(int device);

/** From now on launches on all devices, but for the next `after` ones, give cudaErrorLaunchOutOfResources, and nothing
 *  else is wrong. For tests; for good. */
void refuse_launches(int after = 0);

/** From now on kernels that are launched never run, and nothing says so. For tests; for good. */
void lose_launches();

/** While one lives, no device has memory left, or none for more than `most_bytes` at a time. For tests. */
class NoMemoryLeft {
 public:
  explicit NoMemoryLeft(size_t most_bytes = 0);
  ~NoMemoryLeft();
  NoMemoryLeft(const NoMemoryLeft&) = delete;
  NoMemoryLeft& operator=(const NoMemoryLeft&) = delete;
};

/** Bytes that devices have left, as cudaMemGetInfo says. For tests. */
size_t free_memory();

/** While one lives, other processes have all devices for themselves: cudaSetDevice gives cudaErrorDevicesUnavailable.
 *  For tests. */
class DevicesUnavailable {
 public:
  DevicesUnavailable();
  ~DevicesUnavailable();
  DevicesUnavailable(const DevicesUnavailable&) = delete;
  DevicesUnavailable& operator=(const DevicesUnavailable&) = delete;
};

}  // namespace heddle::simt
