#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "gpu/device.h"

namespace heddle {

/** What GPU ports have on GPUs, and share with them, as long as they are there: configurations come and go, and their
 *  devices with them. So these devices are the ports' own, and no kernel is resident on them. */
class PortMemory {
 public:
  /** The ports' own device beside `device`, opened when it is asked for first. Before the kernels of `device` start. */
  gpu::Device& beside(const gpu::Device& device);

  /** Lets all GPUs reach it, and so that of others. After beside(). */
  void share(gpu::SharedMemory memory);
  /** It is to be taken back, and `owner` to go then. */
  void keep(gpu::SharedMemory memory, std::shared_ptr<void> owner);
  /** Takes back what keep() has been told of, as far as `may_take(memory)` says that no kernel is in the way. */
  template <class MayTake>
  void take_back(const MayTake& may_take) {
    const std::lock_guard lock(mutex_);
    std::erase_if(kept_, [&](const Kept& kept) { return may_take(kept.memory) && unshare(kept.memory); });
  }
  /** What waits for that. */
  size_t kept() const;

 private:
  struct Kept {
    gpu::SharedMemory memory;
    std::shared_ptr<void> owner;
  };
  bool unshare(gpu::SharedMemory memory);

  mutable std::mutex mutex_;
  std::vector<Kept> kept_;  // before the devices: it goes after them
  std::vector<std::unique_ptr<gpu::Device>> devices_;
};

}  // namespace heddle
