#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace heddle {

/** How a GPU segment gets its work. */
enum class LaunchMode : uint8_t {
  sync,       ///< a kernel for each batch; the thread waits for it
  async,      ///< the same on a ring of streams; the thread goes on meanwhile
  persistent  ///< resident kernels poll slots
};
constexpr std::array<const char*, 3> kLaunchModes = {"sync", "async", "persistent"};
constexpr const char* name(LaunchMode mode) { return kLaunchModes[static_cast<size_t>(mode)]; }

/** How packet bytes get to a GPU segment and back. */
enum class Transport : uint8_t {
  direct,  ///< functions read and write packets where they lie, in host memory
  gather,  ///< the kernel copies what the plan wants into GPU memory once, and back what has changed (gpu/transport.h)
  coalescent,  ///< the CPU packs what the plan wants side by side, the copy engine takes that to GPU memory and back
  zerocopy     ///< the CPU packs it, and functions work there, in host memory
};
constexpr std::array<const char*, 4> kTransports = {"direct", "gather", "coalescent", "zerocopy"};
/** Whether the CPU packs what goes to the GPU. */
constexpr bool packs(Transport transport) {
  return transport == Transport::coalescent || transport == Transport::zerocopy;
}
constexpr const char* name(Transport transport) { return kTransports[static_cast<size_t>(transport)]; }

/** The value with this name. */
template <class Mode, size_t n>
constexpr std::optional<Mode> mode_named(std::string_view name, const std::array<const char*, n>& names) {
  for (size_t i = 0; i < n; ++i)
    if (name == names[i]) return static_cast<Mode>(i);
  return {};
}

}  // namespace heddle
