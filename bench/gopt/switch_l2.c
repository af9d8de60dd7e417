/* A switch: the port of the destination address by cuckoo hashing, from the rule that CPU and GPU compile. */
#include "bench/gopt/frame.h"
#include "gopt.h"

HANDLER(switch_l2, l2_tables) {
  foreach (i, n) {
    const struct packet* packet = &packets[i];
    if (packet->length < 14) {
      ports->dropped++;
      continue;
    }
    const uint64_t key = (uint64_t)be32(packet->frame) << 16 | be16(packet->frame + 4);
    const uint64_t word = search_both(tables->addresses, hash_in(tables->addresses, key), key);
    if (word == 0) {
      ports->dropped++;
      continue;
    }
    transmit(ports, (uint32_t)(word >> kValueShift) - 1, packet);
  }
}
