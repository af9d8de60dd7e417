#include "engine/port_memory.h"

#include <algorithm>

namespace heddle {

gpu::Device& PortMemory::beside(const gpu::Device& device) {
  const std::lock_guard lock(mutex_);
  const std::string& name = device.info().name;
  const auto found = std::ranges::find_if(devices_, [&](auto& one) { return one->info().name == name; });
  return found != devices_.end() ? **found : *devices_.emplace_back(gpu::open_device(name));
}

void PortMemory::share(gpu::SharedMemory memory) {
  const std::lock_guard lock(mutex_);
  devices_.front()->share(memory);
}

void PortMemory::keep(gpu::SharedMemory memory, std::shared_ptr<void> owner) {
  const std::lock_guard lock(mutex_);
  kept_.push_back({memory, std::move(owner)});
}

size_t PortMemory::kept() const {
  const std::lock_guard lock(mutex_);
  return kept_.size();
}

bool PortMemory::unshare(gpu::SharedMemory memory) { return devices_.empty() || devices_.front()->unshare(memory); }

}  // namespace heddle
