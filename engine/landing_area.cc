#include "engine/landing_area.h"

namespace heddle {
namespace {

// rte_mbuf's: the last packet that had the buffer has been freed.
void on_free(void*, void* places) { LandingArea::give_back(*static_cast<LandingArea::Places*>(places), 1); }

}  // namespace

LandingArea::Places* LandingArea::take(size_t bytes, int packets) {
  // What the thread that freed the last packet did with it comes before what is done with its memory from now on.
  for (; oldest_ < next_; ++oldest_) {
    const Places& oldest = places_[oldest_ % count_];
    if (oldest.in_use.load(std::memory_order_acquire) != 0) break;
    memory_.give_back(oldest.until);
  }
  if (next_ - oldest_ == count_) return nullptr;
  std::byte* first = memory_.take(bytes);
  if (first == nullptr) return nullptr;
  Places& places = places_[next_++ % count_];
  places.first = first;
  places.until = memory_.taken();
  places.in_use.store(packets, std::memory_order_relaxed);
  return &places;
}

void LandingArea::attach(Packet* packet, Places& places, int i, std::byte* buffer, uint32_t bytes, uint32_t data_off) {
  const uint64_t flags = packet->ol_flags & ~(RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT);
  const uint16_t length = packet->data_len;
  if (!RTE_MBUF_DIRECT(packet)) rte_pktmbuf_detach(packet);  // it has landed before
  rte_mbuf_ext_shared_info& shared = places.shared[i];
  shared.free_cb = on_free, shared.fcb_opaque = &places;
  rte_mbuf_ext_refcnt_set(&shared, 1);
  rte_pktmbuf_attach_extbuf(packet, buffer, reinterpret_cast<rte_iova_t>(buffer), static_cast<uint16_t>(bytes),
                            &shared);
  packet->data_off = static_cast<uint16_t>(data_off);
  packet->data_len = length;
  packet->ol_flags |= flags;
}

}  // namespace heddle
