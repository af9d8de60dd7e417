/* Whole packet handlers for measuring gopt, as sections 4 and 4.2 of its paper have them: header checks, one lookup in
   a large table, header changes and transmission, for batches. Each as written and transformed (_gopt). */
#pragma once

#include <stdint.h>

#include "functions/cuckoo/bucket_rule.h"

#ifdef __cplusplus
namespace heddle::bench {
using cuckoo::Image;
extern "C" {
#endif

struct packet {
  uint8_t* frame;
  uint32_t length; /* of it, in bytes */
  uint32_t router; /* virtual one, for forward_ip4 */
};

/* Transmission is what a driver does for a packet: a descriptor in the port's ring, and counters. */
enum { kRing = 512, kPorts = 4 };
struct descriptor {
  const uint8_t* frame;
  uint64_t length_and_flags;
};
struct port {
  uint64_t packets, bytes;
  struct descriptor ring[kRing];
};
struct ports {
  struct port port[kPorts];
  uint64_t dropped;
};

/* The Ethernet addresses, destination first, that a hop's packets get. */
struct neighbour {
  uint8_t addresses[12];
  uint16_t port;
};

/* Tables as DirectImage has them, one for each virtual router, and neighbours by hop index. */
struct ip4_router {
  const uint16_t* tbl24;
  const uint16_t* tbl8;
};
struct ip4_tables {
  const struct ip4_router* routers;
  const struct neighbour* neighbours;
};

/* A trie (functions/ip6_lookup/trie_rule.h) that leads to neighbours' numbers. */
struct ip6_tables {
  const uint32_t* trie;
  const struct neighbour* neighbours;
};

/* NDN names as functions/ndn has them in its cuckoo table: values are outputs + 1. */
struct ndn_tables {
  const struct Image* names;
};

/* Addresses' ports + 1 by functions/cuckoo's table. */
struct l2_tables {
  const struct Image* addresses;
};

#define HANDLER(name, kind) \
  void name(const struct kind* tables, const struct packet* packets, int n, struct ports* ports)
void echo(const struct packet* packets, int n, struct ports* ports); /* to a random port, by the payload */
HANDLER(forward_ip4, ip4_tables);
HANDLER(forward_ip4_gopt, ip4_tables);
HANDLER(forward_ip6, ip6_tables);
HANDLER(forward_ip6_gopt, ip6_tables);
HANDLER(forward_ndn, ndn_tables);
HANDLER(forward_ndn_gopt, ndn_tables);
HANDLER(switch_l2, l2_tables);
HANDLER(switch_l2_gopt, l2_tables);

#ifdef __cplusplus
}
} /* namespace heddle::bench */
#endif
