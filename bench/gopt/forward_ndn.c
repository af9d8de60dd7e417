/* NDN Interests by the longest prefix of their name: SipHash-1-3 of every prefix that there may be routes for, searched
   from the longest on. Names and hashes are those of functions/ndn, for names with numbers of one byte. */
#include "bench/gopt/frame.h"
#include "gopt.h"

enum { kMostParts = 8 };
struct sip {
  uint64_t v0, v1, v2, v3;
};
static inline uint64_t rotated(uint64_t x, int by) { return x << by | x >> (64 - by); }
static inline void sip_round(struct sip* s) {
  s->v0 += s->v1, s->v1 = rotated(s->v1, 13) ^ s->v0, s->v0 = rotated(s->v0, 32);
  s->v2 += s->v3, s->v3 = rotated(s->v3, 16) ^ s->v2;
  s->v0 += s->v3, s->v3 = rotated(s->v3, 21) ^ s->v0;
  s->v2 += s->v1, s->v1 = rotated(s->v1, 17) ^ s->v2, s->v2 = rotated(s->v2, 32);
}
static inline void sip_add(struct sip* s, uint64_t word) {
  s->v3 ^= word;
  sip_round(s);
  s->v0 ^= word;
}
static inline uint64_t sip_folded(struct sip* s) {
  for (int round = 0; round < 3; ++round) sip_round(s);
  return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}
static inline uint64_t bytes_at(const uint8_t* at, uint32_t n) {
  uint64_t word = 0;
  for (uint32_t b = 0; b < n; ++b) word |= (uint64_t)at[b] << 8 * b;
  return word;
}

struct prefix {
  uint64_t key;
  uint32_t hash;
};

/* The prefixes of the name in `frame` that have as many components as `lengths` has bits for, the shortest first; -1 if
   there is no name. */
static inline int prefixes_of(const uint8_t* frame, uint32_t length, uint64_t seed, uint32_t lengths,
                              struct prefix* prefixes) {
  if (length < 18 || be16(frame + 12) != 0x8624 || frame[14] != 5 || frame[16] != 7) return -1;
  const uint32_t end = 18u + frame[17], outer = 16u + frame[15];
  if (outer > length || end > outer || frame[15] >= 253 || frame[17] == 0) return -1;
  const uint64_t second = mixed(seed);
  struct sip s = {seed ^ 0x736f6d6570736575u, second ^ 0x646f72616e646f6du ^ 0xee, seed ^ 0x6c7967656e657261u,
                  second ^ 0x7465646279746573u};
  uint32_t at = 18, added = 18;
  int found = 0;
  for (int parts = 0; parts < kMostParts; ++parts) {
    for (; at - added >= 8; added += 8) {
      uint64_t word;
      memcpy(&word, frame + added, 8);
      sip_add(&s, word);
    }
    if (lengths >> parts & 1) {
      struct sip last = s;
      sip_add(&last, bytes_at(frame + added, at - added) | (uint64_t)(at - 18) << 56);
      last.v2 ^= 0xee;
      prefixes[found].key = sip_folded(&last) & kKeyMask;
      last.v1 ^= 0xdd;
      prefixes[found++].hash = (uint32_t)(sip_folded(&last) >> 32);
    }
    if (at == end) break;
    if (end - at < 2 || frame[at] == 0 || frame[at] >= 253 || frame[at + 1] >= 253 || end - at - 2 < frame[at + 1])
      return -1;
    at += 2u + frame[at + 1];
  }
  return found;
}

HANDLER(forward_ndn, ndn_tables) {
  foreach (i, n) {
    const struct packet* packet = &packets[i];
    struct prefix prefixes[kMostParts];
    int left = prefixes_of(packet->frame, packet->length, tables->names->seed, tables->names->owner, prefixes);
    uint64_t word = 0;
    for (; left > 0 && word == 0; --left)
      word = search_both(tables->names, prefixes[left - 1].hash, prefixes[left - 1].key);
    if (word == 0) {
      ports->dropped++;
      continue;
    }
    transmit(ports, (uint32_t)(word >> kValueShift) - 1, packet);
  }
}
