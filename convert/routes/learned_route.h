#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace heddle::ip_lookup {

/** A route as a foreign file has it: where it leads is not an output yet. */
struct LearnedRoute {
  uint32_t address = 0;  ///< host byte order, bits after the first `length` are zero
  uint8_t length = 0;
  uint32_t gateway = 0;              ///< host byte order, 0 = none
  std::string interface {};          ///< "" if the file names none
  std::optional<uint32_t> output{};  ///< if the file has a number already
};
using RouteSink = std::function<void(const LearnedRoute&)>;

}  // namespace heddle::ip_lookup
