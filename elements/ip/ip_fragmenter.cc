#include "elements/ip/ip_fragmenter.h"

#include <cstdio>

#include "click/arguments.h"
#include "elements/ip/header.h"

namespace heddle {
namespace {

constexpr uint16_t kDf = 0x4000, kMf = 0x2000, kOffset = 0x1fff;

uint16_t fragment_field(const uint8_t* ip) { return ntohs(load_u16(ip + 6)); }

/** Leaves out the options that only the first fragment has. Returns the header's new length. */
uint32_t keep_copied_options(uint8_t* header, uint32_t bytes) {
  uint32_t kept = 20;
  for (uint32_t at = 20; at < bytes;) {
    const uint8_t option = header[at];
    const uint32_t size = option == 1 ? 1 : at + 1 < bytes ? header[at + 1] : 0;
    if (option == 0 || (option != 1 && size < 2) || at + size > bytes) break;
    if ((option & 0x80) != 0) std::memmove(header + kept, header + at, size), kept += size;
    at += size;
  }
  while (kept % 4 != 0) header[kept++] = 0;  // End of Option List
  header[0] = static_cast<uint8_t>(0x40 | kept / 4);
  return kept;
}

}  // namespace

void IPFragmenter::configure(click::Arguments& arguments) {
  arguments.required("MTU", mtu_, 28u, 65535u).optional("HONOR_DF", honor_df_).optional("VERBOSE", verbose_);
}

void IPFragmenter::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  uint32_t* l4 = batch.column(Column::l4);
  const bool wants_l4 = this->wants_l4();
  const uint32_t mtu = mtu_;
  Packet* const* const packets = batch.packets();
  const int n = batch.size();
  for (int i = 0; i < n; ++i) {
    const uint32_t room = bytes_from(packets[i], l3[i]);
    if (room <= mtu && room >= 20) [[likely]] {
      if (wants_l4) l4[i] = l3[i] + (marked_header(packets[i], l3[i])[0] & 15u) * 4;
      continue;
    }
    const Ip4Header ip = ip4_header(packets[i], l3[i]);
    if (!ip) {
      batch.drop(i, kNoHeader);
    } else if (const bool kept_whole = (fragment_field(ip.at) & kDf) != 0 && honor_df_;
               kept_whole || ip.bytes + 8 > mtu) {
      if (verbose_)
        std::fprintf(stderr, "%s: %u bytes, and %s\n", name.c_str(), ip.total(),
                     kept_whole ? "it must not be fragmented" : "its header leaves no room for a part of them");
      l4[i] = l3[i] + ip.bytes;
      refuse(batch, i, kept_whole ? kDontFragment : kNoRoom);
    } else if (ip.total() != ip.room || (fragment_field(ip.at) & kOffset) + (ip.room - ip.bytes) / 8 > kOffset) {
      batch.drop(i, kBadLength);
    } else {
      keep(batch, i);
    }
  }
}

IPFragmenter::Division IPFragmenter::divide(const uint8_t* ip, uint32_t done) const {
  const uint32_t bytes = transport_at(ip);
  if (done == 0) return {bytes, bytes};
  uint8_t header[60];
  std::memcpy(header, ip, bytes);
  return {keep_copied_options(header, bytes), bytes};
}

void IPFragmenter::write_headers(uint8_t* to, const uint8_t* ip, const Division& division, const Piece& piece) const {
  uint8_t header[60];
  std::memcpy(header, ip, division.payload_at);
  if (piece.done > 0) keep_copied_options(header, division.payload_at);
  std::memcpy(to, header, division.header_bytes);
  const uint16_t field = fragment_field(ip);
  const bool more = !piece.last || (field & kMf) != 0;
  const uint32_t offset = piece.done / 8 + (field & kOffset);
  store_u16(to + 2, htons(static_cast<uint16_t>(division.header_bytes + piece.bytes)));
  store_u16(to + 6, htons(static_cast<uint16_t>(offset | (more ? kMf : 0))));
  set_ip4_header_checksum(to, division.header_bytes);
}

HEDDLE_ELEMENT(IPFragmenter);

}  // namespace heddle
