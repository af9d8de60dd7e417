#pragma once

namespace heddle::simt {

/** From now on the device is as one whose kernel has died: what runs ends where it is, nothing else runs, and calls that
 *  launch or wait give cudaErrorLaunchFailure. For tests; for good. */
void lose_device(int device);
bool is_lost(int device);

}  // namespace heddle::simt
