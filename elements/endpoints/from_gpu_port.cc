#include "elements/endpoints/from_gpu_port.h"

namespace heddle {

std::span<const char* const> FromGPUPort::drop_reasons() const {
  static constexpr const char* kReasons[] = {"bad_descriptor", "chained"};
  return kReasons;
}

HEDDLE_ELEMENT(FromGPUPort);

}  // namespace heddle
