/* An IPv6 router (RFC 8200, without ICMP): checks, a walk through a trie by the rule that CPU and GPU compile, hop
   limit. */
#include "bench/gopt/frame.h"
#include "functions/ip6_lookup/trie_rule.h"
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
    const uint16_t found = trie_lookup_at(tables->trie, ip + 24);
    if (found == 0) {
      ports->dropped++;
      continue;
    }
    ip[7]--;
    forward(ports, &tables->neighbours[found - 1], packet);
  }
}
