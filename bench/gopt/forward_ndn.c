/* NDN Interests by the longest prefix of their name: SipHash-1-3 of every prefix that there may be routes for, searched
   from the longest on. Names and hashes are those of functions/ndn, for names with numbers of one byte. */
#include "bench/gopt/frame.h"
#include "functions/ndn/hash_rule.h"
#include "gopt.h"

enum { kMaxParts = 8 };

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
  struct NameHash hash;
  hash_begin(&hash, seed);
  uint32_t at = 18, added = 18;
  int found = 0;
  for (int parts = 0; parts < kMaxParts; ++parts) {
    for (; at - added >= 8; added += 8) {
      uint64_t word;
      memcpy(&word, frame + added, 8);
      hash_add(&hash, word);
    }
    if (lengths >> parts & 1) {
      hash_finish(&hash, bytes_at(frame + added, at - added) | (uint64_t)(at - 18) << 56, &prefixes[found].key,
                  &prefixes[found].hash);
      ++found;
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
    struct prefix prefixes[kMaxParts];
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
