#include "elements/endpoints/to_gpu_port.h"

namespace heddle {

std::span<const char* const> ToGPUPort::drop_reasons() const {
  static constexpr const char* kReasons[] = {"too_long", "bad_buffer", "full", "no_peer"};
  return kReasons;
}

HEDDLE_ELEMENT(ToGPUPort);

}  // namespace heddle
