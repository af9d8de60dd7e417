/* The router that the others are compared with: P = X mod 4, with a random X in the payload. */
#include "bench/gopt/frame.h"

void echo(const struct packet* packets, int n, struct ports* ports) {
  for (int i = 0; i < n; ++i) transmit(ports, be32(packets[i].frame + 14) % kPorts, &packets[i]);
}
