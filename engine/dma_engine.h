#pragma once

#include <optional>

#include "gpu/device.h"

namespace heddle {

/** The DMA engine of a ring, a kernel for each transfer. */
class DmaEngine final : public softnic::Dma {
 public:
  void start(const softnic::Transfer& transfer) override;
  bool failed() override { return !device_->failure().empty(); }

  /** Where it is to work next, from move() on. Before Device::start(). */
  void add_to(gpu::Device& device) { next_ = &device, next_id_ = device.add_dma(); }
  void move() { device_ = next_, id_ = next_id_; }
  /** Returns when it has done what it was given. */
  void finish();

 private:
  gpu::Device *device_ = nullptr, *next_ = nullptr;
  gpu::DmaId id_ = gpu::DmaId::none, next_id_ = gpu::DmaId::none;
  std::optional<softnic::Transfer> last_;
};

}  // namespace heddle
