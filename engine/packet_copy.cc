#include "engine/packet_copy.h"

#include <algorithm>
#include <cstring>

#include "engine/trace.h"

namespace heddle {

Packet* copy_packet(const Packet* packet, uint32_t shift, uint32_t appends, const CopyPools& pools) {
  const uint32_t start = packet->data_off + shift;
  const bool fits = start + length(packet) + appends <= pools.normal->data_bytes() + RTE_PKTMBUF_HEADROOM;
  Packet* copy = rte_pktmbuf_alloc((fits ? pools.normal : pools.large)->mempool());
  if (copy == nullptr) return nullptr;
  copy->data_off = static_cast<uint16_t>(start);
  copy->data_len = packet->data_len;
  copy->pkt_len = packet->pkt_len;
  copy->port = packet->port;
  copy->ol_flags |= packet->ol_flags & kTraceMark;
  if (has_capture_info(packet)) set_capture_info(copy, capture_info(packet));
  const uint32_t own = RTE_MBUF_HAS_EXTBUF(packet) ? 0 : RTE_PKTMBUF_HEADROOM;  // where packets arrive
  const uint32_t first = std::min<uint32_t>(packet->data_off, own);
  std::memcpy(static_cast<uint8_t*>(copy->buf_addr) + first + shift,
              static_cast<const uint8_t*>(packet->buf_addr) + first, packet->data_off - first + length(packet));
  return copy;
}

}  // namespace heddle
