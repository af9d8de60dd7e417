/* What packet handlers do with frames; C only. */
#pragma once

#include <string.h>

#include "bench/gopt/handlers.h"

static inline uint32_t be16(const uint8_t* at) { return (uint32_t)at[0] << 8 | at[1]; }
static inline uint32_t be32(const uint8_t* at) {
  uint32_t value;
  memcpy(&value, at, 4);
  return __builtin_bswap32(value);
}

static inline void transmit(struct ports* ports, uint32_t number, const struct packet* packet) {
  struct port* port = &ports->port[number];
  struct descriptor* descriptor = &port->ring[port->packets % kRing];
  descriptor->frame = packet->frame;
  descriptor->length_and_flags = (uint64_t)packet->length << 32 | 1;
  port->packets++;
  port->bytes += packet->length;
}

static inline void forward(struct ports* ports, const struct neighbour* to, const struct packet* packet) {
  memcpy(packet->frame, to->addresses, 12);
  transmit(ports, to->port, packet);
}
