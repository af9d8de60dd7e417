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
  graph,      ///< as async, and the launch of a whole batch is a CUDA graph, made before the start
  persistent  ///< resident kernels poll slots
};
constexpr std::array<const char*, 4> kLaunchModes = {"sync", "async", "graph", "persistent"};
constexpr const char* name(LaunchMode mode) { return kLaunchModes[static_cast<size_t>(mode)]; }

/** How packet bytes get to a GPU segment and back. */
enum class Transport : uint8_t {
  direct,  ///< functions read and write packets where they lie, in host memory
  gather,  ///< the kernel copies what the plan wants into GPU memory once, and back what has changed (gpu/transport.h)
  coalescent,  ///< the CPU packs what the plan wants side by side, the copy engine takes that to GPU memory and back
  zerocopy,    ///< the CPU packs it, and functions work there, in host memory
  commlist,    ///< the CPU lists what the plan wants, packet by packet; the copy engine takes it to GPU memory and back
  landing      ///< as gather, but packets come back side by side, into memory that is their buffer from then on
};
constexpr std::array<const char*, 6> kTransports = {"direct",   "gather",   "coalescent",
                                                    "zerocopy", "commlist", "landing"};
/** Whether the CPU packs what goes to the GPU. */
constexpr bool packs(Transport transport) {
  return transport == Transport::coalescent || transport == Transport::zerocopy;
}
/** Whether the kernel copies what functions work on to GPU memory. */
constexpr bool gathers(Transport transport) {
  return transport == Transport::gather || transport == Transport::landing;
}
/** Whether the copy engine moves the bytes, before and after each launch. */
constexpr bool copies_by_engine(Transport transport) {
  return transport == Transport::coalescent || transport == Transport::commlist;
}
constexpr const char* name(Transport transport) { return kTransports[static_cast<size_t>(transport)]; }

/** How much of what waits for a GPU a segment takes at a time; 0: no limit of its own. */
struct LaunchLimits {
  int batch = 0;     ///< packets of a batch, those behind are dropped ("max_batch")
  int capacity = 0;  ///< batches that wait in a list
  int lists = 0;     ///< lists of a thread, a stream each
};

/** The value with this name. */
template <class Mode, size_t n>
constexpr std::optional<Mode> mode_named(std::string_view name, const std::array<const char*, n>& names) {
  for (size_t i = 0; i < n; ++i)
    if (name == names[i]) return static_cast<Mode>(i);
  return {};
}

}  // namespace heddle
