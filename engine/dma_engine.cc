#include "engine/dma_engine.h"

#include <thread>

#include "core/error.h"

namespace heddle {

void DmaEngine::start(const softnic::Transfer& transfer) {
  last_ = transfer;
  try {
    device_->start_dma(id_, transfer);
  } catch (const Error& error) {
    device_->fail(error.what());
    throw;
  }
}

void DmaEngine::finish() {
  while (last_ && __atomic_load_n(last_->done, __ATOMIC_ACQUIRE) != last_->stamp && !failed())
    std::this_thread::yield();
  last_.reset();
}

}  // namespace heddle
