#include "elements/nat/sequence.h"

namespace heddle::nat {
namespace {

constexpr uint32_t kTcpHeader = 20;
constexpr uint8_t kNothing = 1, kSack = 5;

uint32_t moved(uint32_t sequence, const Shift& shift) {
  const bool later = static_cast<int32_t>(sequence - shift.from) > 0;
  return sequence + static_cast<uint32_t>(int32_t{later ? shift.after : shift.before});
}

uint32_t moved_back(uint32_t sequence, const Shift& shift) {
  const uint32_t earlier = sequence - static_cast<uint32_t>(int32_t{shift.before});
  const bool later = static_cast<int32_t>(earlier - shift.from) > 0;
  return later ? sequence - static_cast<uint32_t>(int32_t{shift.after}) : earlier;
}

/** Gives 4 bytes at any place of a segment a value, in host byte order. */
void rewrite_number(uint8_t* tcp, uint32_t offset, uint32_t value) {
  uint32_t before = load_u32(tcp + offset), after = htonl(value);
  store_u32(tcp + offset, after);
  if (offset % 2 != 0) {  // the checksum has these bytes the other way round
    const auto swapped = [](uint32_t word) { return (word & 0xff00ff00) >> 8 | (word & 0x00ff00ff) << 8; };
    before = swapped(before), after = swapped(after);
  }
  store_u16(tcp + 16, updated_checksum(load_u16(tcp + 16), before, after));
}

void shift_sacks(uint8_t* tcp, uint32_t header, const Shift& shift) {
  for (uint32_t at = kTcpHeader; at + 1 < header;) {
    if (tcp[at] == 0) return;
    if (tcp[at] == kNothing) {
      ++at;
      continue;
    }
    const uint32_t bytes = tcp[at + 1];
    if (bytes < 2 || at + bytes > header) return;
    if (tcp[at] == kSack)
      for (uint32_t edge = at + 2; edge + 4 <= at + bytes; edge += 4)
        rewrite_number(tcp, edge, moved_back(ntohl(load_u32(tcp + edge)), shift));
    at += bytes;
  }
}

}  // namespace

void shift_sequence(const Ip4Header& ip, const Shift& shift, bool reply) {
  if (ip.at[9] != kTcp || !ip.first_fragment() || ip.payload() < kTcpHeader) return;
  uint8_t* const tcp = ip.behind();
  if (!reply) {
    rewrite_number(tcp, 4, moved(ntohl(load_u32(tcp + 4)), shift));
    return;
  }
  constexpr uint8_t kAck = 16;
  if ((tcp[13] & kAck) == 0) return;
  rewrite_number(tcp, 8, moved_back(ntohl(load_u32(tcp + 8)), shift));
  shift_sacks(tcp, std::min((tcp[12] >> 4) * 4u, ip.payload()), shift);
}

}  // namespace heddle::nat
