/* An IPv6 router (RFC 8200, without ICMP): checks, a walk through a trie, hop limit. */
#include "bench/gopt/frame.h"
#include "gopt.h"

HANDLER(forward_ip6, ip6_tables) {
  foreach (i, n) {
    const struct packet* packet = &packets[i];
    uint8_t* ip = packet->frame + 14;
    if (packet->length < 54 || be16(packet->frame + 12) != 0x86dd || ip[0] >> 4 != 6 ||
        be16(ip + 4) > packet->length - 54 || ip[7] <= 1) {
      ports->dropped++;
      continue;
    }
    const uint8_t* address = ip + 24;
    const uint32_t* entry = &tables->tbl24[be32(address) >> 8];
    uint32_t found = kDeeper;
    for (int byte = 3; found >= kDeeper; ++byte) {
      g_expensive(entry);
      found = *entry;
      entry = &tables->tbl8[(found - kDeeper) * 256ull + address[byte]];
    }
    if (found == 0) {
      ports->dropped++;
      continue;
    }
    ip[7]--;
    forward(ports, &tables->neighbours[found - 1], packet);
  }
}
