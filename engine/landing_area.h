#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/packet.h"
#include "engine/staging.h"
#include "gpu/slot.h"

namespace heddle {

/** Memory that packets land in when they come back from a GPU, and that is their buffer from then on (an rte_mbuf's
 *  external buffer; its own waits until the packet is freed). Places are taken for a slot's packets side by side, and
 *  used again in the order in which they were taken, when all packets of a slot have been freed: whoever keeps packets
 *  keeps their memory, and take() says that there is none rather than give away what is in use. One thread takes, any
 *  thread frees packets. */
class LandingArea {
 public:
  /** The places of one slot's packets. */
  struct Places {
    rte_mbuf_ext_shared_info shared[gpu::kSlotPackets];
    std::atomic<int> in_use{0};  ///< packets that have such a buffer, or may still get one
    uint64_t until = 0;          ///< for Staging::give_back()
    std::byte* first = nullptr;  ///< pinned; packet by packet
  };

  /** `memory`: in packet memory, aligned to Staging::kAlignment, which like the area outlives all packets; `slots`:
   *  whose packets it may have at once. */
  LandingArea(std::span<std::byte> memory, size_t slots) : memory_(memory), places_(new Places[slots]), count_(slots) {}

  /** Places for `packets` packets, `bytes` in all; null if there is no room. */
  Places* take(size_t bytes, int packets);
  /** Gives `packets` of the places back that no packet got. */
  static void give_back(Places& places, int packets) { places.in_use.fetch_sub(packets, std::memory_order_release); }

  /** Makes [buffer, buffer + bytes), of `places`, the buffer of `packet`, whose bytes begin `data_off` bytes behind its
   *  start; other packets must not share them. `i`: of the slot's packets. */
  static void attach(Packet* packet, Places& places, int i, std::byte* buffer, uint32_t bytes, uint32_t data_off);

 private:
  Staging memory_;
  std::unique_ptr<Places[]> places_;  // [count_]
  size_t count_;
  uint64_t oldest_ = 0, next_ = 0;  // of places_, which are used in turns
};

}  // namespace heddle
