#include "elements/nat/sequence.h"

namespace heddle::nat {
namespace {

constexpr uint32_t kTcpHeader = 20, kSequence = 4, kAcknowledged = 8, kFlags = 13;
constexpr uint8_t kNothing = 1, kSack = 5;

/** Whether it is a TCP packet of which so many bytes are there. */
bool is_tcp(const Ip4Header& ip, uint32_t bytes) {
  return ip.at[9] == kTcp && ip.first_fragment() && ip.payload() >= bytes;
}

/** Whether it has the number of an acknowledgement. Without the flag, 0 is none, and others are moved as in Click. */
bool acknowledges(const Ip4Header& ip) {
  constexpr uint8_t kAck = 16;
  return (ip.behind()[kFlags] & kAck) != 0 || load_u32(ip.behind() + kAcknowledged) != 0;
}

bool is_behind(uint32_t sequence, const Shift& shift) { return static_cast<int32_t>(sequence - shift.from) > 0; }

uint32_t moved(uint32_t sequence, const Shifts& shifts) {
  const auto by = [&](int16_t bytes) { return sequence + static_cast<uint32_t>(int32_t{bytes}); };
  if (is_behind(sequence, shifts.newest)) return by(shifts.newest.after);
  if (!shifts.earlier || is_behind(sequence, shifts.earlier)) return by(shifts.newest.before);
  return by(shifts.earlier.before);
}

// Within a segment that has become longer or shorter no number has a counterpart: there it is none behind the one that
// came, so nothing is acknowledged that has not arrived.
uint32_t moved_back(uint32_t sequence, const Shifts& shifts) {
  const auto by = [&](int16_t bytes) { return sequence - static_cast<uint32_t>(int32_t{bytes}); };
  const auto within = [&](uint32_t number, const Shift& shift) {
    return is_behind(number, shift) ? shift.from : number;
  };
  if (const uint32_t after = by(shifts.newest.after); is_behind(after, shifts.newest)) return after;
  const uint32_t between = by(shifts.newest.before);
  if (!shifts.earlier || is_behind(between, shifts.earlier)) return within(between, shifts.newest);
  return within(by(shifts.earlier.before), shifts.earlier);
}

/** Gives 4 bytes at any place of a segment a value, in host byte order. */
void rewrite_number(const Ip4Header& ip, uint32_t offset, uint32_t value) {
  uint8_t* const at = ip.behind() + offset;
  uint32_t before = load_u32(at), after = htonl(value);
  store_u32(at, after);
  uint8_t* const checksum = transport_checksum_field(ip);
  if (checksum == nullptr) return;  // not quoted
  if (offset % 2 != 0) {            // the checksum has these bytes the other way round
    const auto swapped = [](uint32_t word) { return (word & 0xff00ff00) >> 8 | (word & 0x00ff00ff) << 8; };
    before = swapped(before), after = swapped(after);
  }
  store_u16(checksum, updated_checksum(load_u16(checksum), before, after));
}

void shift_sacks(const Ip4Header& ip, uint32_t header, const Shifts& shifts) {
  const uint8_t* const tcp = ip.behind();
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
        rewrite_number(ip, edge, moved_back(ntohl(load_u32(tcp + edge)), shifts));
    at += bytes;
  }
}

}  // namespace

void shift_forward(const Ip4Header& ip, const Shifts& shifts) {
  if (!is_tcp(ip, kTcpHeader)) return;
  rewrite_number(ip, kSequence, moved(ntohl(load_u32(ip.behind() + kSequence)), shifts));
}

void shift_reply(const Ip4Header& ip, const Shifts& shifts) {
  if (!is_tcp(ip, kTcpHeader)) return;
  uint8_t* const tcp = ip.behind();
  if (acknowledges(ip)) rewrite_number(ip, kAcknowledged, moved_back(ntohl(load_u32(tcp + kAcknowledged)), shifts));
  shift_sacks(ip, std::min((tcp[12] >> 4) * 4u, ip.payload()), shifts);
}

void unshift(const Ip4Header& quoted, const Shifts& shifts, bool reply) {
  const uint8_t* const tcp = quoted.behind();
  if (!reply && is_tcp(quoted, kSequence + 4))
    rewrite_number(quoted, kSequence, moved_back(ntohl(load_u32(tcp + kSequence)), shifts));
  else if (reply && is_tcp(quoted, kFlags + 1) && acknowledges(quoted))
    rewrite_number(quoted, kAcknowledged, moved(ntohl(load_u32(tcp + kAcknowledged)), shifts));
}

}  // namespace heddle::nat
