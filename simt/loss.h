#pragma once

namespace heddle::simt {

/** From now on the device is as one whose kernel has died: what runs ends where it is, nothing else runs, and calls
 *  that launch or wait give cudaErrorLaunchFailure. For tests; for good. */
void lose_device(int device);
bool is_lost(int device);

/** From now on launches on all devices give cudaErrorLaunchOutOfResources, and nothing else is wrong. For tests; for
 *  good. */
void refuse_launches();

/** While one lives, no device has memory left. For tests. */
class NoMemoryLeft {
 public:
  NoMemoryLeft();
  ~NoMemoryLeft();
  NoMemoryLeft(const NoMemoryLeft&) = delete;
  NoMemoryLeft& operator=(const NoMemoryLeft&) = delete;
};

}  // namespace heddle::simt
