/* An IPv4 router (RFC 1812, 5.2.1, without options and ICMP): checks, DIR-24-8 from the rule that CPU and GPU compile,
   TTL. */
#include "bench/gopt/frame.h"
#include "functions/ip_lookup/direct_rule.h"
#include "gopt.h"

/* Whether the frame has a sound IPv4 header of 20 bytes that may go on. */
static inline int is_right_ip4(const uint8_t* frame, uint32_t length) {
  const uint8_t* ip = frame + 14;
  if (length < 34 || be16(frame + 12) != 0x0800 || ip[0] != 0x45 || be16(ip + 2) < 20 || be16(ip + 2) > length - 14)
    return 0;
  uint32_t sum = 0;
  for (int at = 0; at < 20; at += 2) sum += be16(ip + at);
  sum = (sum & 0xffff) + (sum >> 16);
  return (sum & 0xffff) + (sum >> 16) == 0xffff && ip[8] > 1;
}

/* Takes one from the TTL, and keeps the checksum right (RFC 1141). */
static inline void age_ip4(uint8_t* ip) {
  const uint32_t sum = be16(ip + 10) + 0x0100;
  const uint32_t folded = sum + (sum >> 16);
  ip[8]--;
  ip[10] = (uint8_t)(folded >> 8);
  ip[11] = (uint8_t)folded;
}

HANDLER(forward_ip4, ip4_tables) {
  foreach (i, n) {
    const struct packet* packet = &packets[i];
    if (!is_right_ip4(packet->frame, packet->length)) {
      ports->dropped++;
      continue;
    }
    const struct ip4_router* router = &tables->routers[packet->router];
    const uint16_t hop = dir24_lookup(router->tbl24, router->tbl8, be32(packet->frame + 30));
    if (hop == 0) {
      ports->dropped++;
      continue;
    }
    age_ip4(packet->frame + 14);
    forward(ports, &tables->neighbours[hop], packet);
  }
}
