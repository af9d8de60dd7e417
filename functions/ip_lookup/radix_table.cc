#include "functions/ip_lookup/radix_table.h"

#include <algorithm>

#include "functions/ip_lookup/simd.h"

namespace heddle::ip_lookup {
namespace {

/** The image and, by entry that names no node, the length of the prefix that owns it (0: the default route, or
 *  none). */
struct RadixMemory {
  RadixImage image;
  uint8_t root_owner[1 << kRootBits];
  uint8_t owner[kNodes][kNodeEntries];
  uint8_t uses[kNodes];  ///< routes that end in the node, and nodes below it: at most 30 + 16
};

RadixMemory& radix_memory_of(std::byte* memory) { return *reinterpret_cast<RadixMemory*>(memory); }
const RadixMemory& radix_memory_of(const std::byte* memory) { return *reinterpret_cast<const RadixMemory*>(memory); }

/** Bits of an address that are used up at depth 0 (the root), 1, ... 4. */
constexpr uint32_t bits_at(uint32_t depth) { return kRootBits + kNodeBits * depth; }
/** The depth of the node in which a prefix of `length` ends. */
constexpr uint32_t depth_of(uint32_t length) {
  return length <= kRootBits ? 0 : (length - kRootBits + kNodeBits - 1) / kNodeBits;
}
constexpr uint32_t kDepths = (32 - kRootBits) / kNodeBits + 1;

uint32_t slot_at(uint32_t depth, uint32_t address) {
  const uint32_t slot = address >> (32 - bits_at(depth));
  return depth == 0 ? slot : slot & (kNodeEntries - 1);
}

}  // namespace

/** The entries of the root or a node, with their owners. */
struct RadixTable::Entries {
  uint32_t* entry;
  uint8_t* owner;
};

RadixTable::RadixTable() : RouteTable(sizeof(RadixImage), sizeof(RadixMemory), kNodes, "nodes of 16 entries") {}

const RadixImage& RadixTable::image() const { return radix_memory_of(memory()).image; }

RadixTable::Entries RadixTable::root() {
  RadixMemory& at = radix_memory_of(memory());
  return {at.image.root, at.root_owner};
}

RadixTable::Entries RadixTable::entries_of(uint32_t node) {
  RadixMemory& at = radix_memory_of(memory());
  return {at.image.nodes[node], at.owner[node]};
}

size_t RadixTable::blocks_needed(std::span<const Route> routes, bool empty) const {
  std::vector<uint64_t> missing;  // depth and the bits that lead there
  for (const Route& route : routes) {
    uint32_t entry = image().root[slot_at(0, route.address)];
    for (uint32_t depth = 1; depth <= depth_of(route.length); ++depth) {
      if (!empty && entry >= kNodeEntry)
        entry = image().nodes[entry - kNodeEntry][slot_at(depth, route.address)];
      else
        missing.push_back(uint64_t{depth} << 32 | route.address >> (32 - bits_at(depth - 1)));
    }
  }
  if (missing.size() < 2) return missing.size();
  std::ranges::sort(missing);
  return static_cast<size_t>(std::unique(missing.begin(), missing.end()) - missing.begin());
}

/** Puts a node in the place of an entry: complete first, then pointed to. */
uint32_t RadixTable::open_node(const Entries& parent, uint32_t slot) {
  const uint32_t node = take_block();
  const Entries mine = entries_of(node);
  for (uint32_t i = 0; i < kNodeEntries; ++i) __atomic_store_n(&mine.entry[i], parent.entry[slot], __ATOMIC_RELAXED);
  std::fill_n(mine.owner, size_t{kNodeEntries}, parent.owner[slot]);
  radix_memory_of(memory()).uses[node] = 0;
  Run run;
  changed(run, mine.entry, kNodeEntries * sizeof *mine.entry);
  report(run);
  publish(parent.entry[slot], kNodeEntry + node, run);
  report(run);
  return node;
}

void RadixTable::set_entries(const Route& route, uint16_t hop, bool is_new) {
  uint8_t* uses = radix_memory_of(memory()).uses;
  Entries entries = root();
  uint32_t node = 0;
  const uint32_t last = depth_of(route.length);
  for (uint32_t depth = 0; depth < last; ++depth) {
    const uint32_t slot = slot_at(depth, route.address);
    if (entries.entry[slot] < kNodeEntry) {
      const uint32_t child = open_node(entries, slot);
      if (depth > 0) ++uses[node];
      node = child;
    } else {
      node = entries.entry[slot] - kNodeEntry;
    }
    entries = entries_of(node);
  }
  if (last > 0 && is_new) ++uses[node];
  Run run;
  paint(entries, slot_at(last, route.address), 1u << (bits_at(last) - route.length), route.length, hop, route.length,
        run);
  report(run);
}

void RadixTable::clear_entries(uint32_t address, uint32_t length, uint16_t cover, uint8_t cover_length) {
  uint8_t* uses = radix_memory_of(memory()).uses;
  uint32_t nodes[kDepths] = {};  // on the way, from depth 1
  Entries levels[kDepths] = {root()};
  const uint32_t last = depth_of(length);
  for (uint32_t depth = 0; depth < last; ++depth) {
    nodes[depth + 1] = levels[depth].entry[slot_at(depth, address)] - kNodeEntry;
    levels[depth + 1] = entries_of(nodes[depth + 1]);
  }
  // Nodes that nothing uses any more go: the entry above them answers for all of them, since the cover is shorter.
  uint32_t kept = last;
  while (kept > 0 && --uses[nodes[kept]] == 0) --kept;
  Run run;
  if (kept == last) {
    paint(levels[last], slot_at(last, address), 1u << (bits_at(last) - length), length, cover, cover_length, run);
  } else {
    const uint32_t slot = slot_at(kept, address);
    publish(levels[kept].entry[slot], uint32_t{cover}, run);
    levels[kept].owner[slot] = cover_length;
    for (uint32_t depth = kept + 1; depth <= last; ++depth) retire_block(nodes[depth]);
  }
  report(run);
}

/** Gives the entries from `first`, and those below them, that no prefix longer than `length` owns to `hop`, on behalf
 *  of a prefix of length `owner`. */
void RadixTable::paint(const Entries& entries, uint32_t first, uint32_t count, uint32_t length, uint16_t hop,
                       uint8_t owner, Run& run) {
  for (uint32_t i = first; i < first + count; ++i) {
    if (entries.entry[i] >= kNodeEntry) {
      paint(entries_of(entries.entry[i] - kNodeEntry), 0, kNodeEntries, length, hop, owner, run);
    } else if (entries.owner[i] <= length) {
      publish(entries.entry[i], uint32_t{hop}, run);
      entries.owner[i] = owner;
    }
  }
}

// ---- lookups in bulk ----

#ifdef HEDDLE_AVX2
/** 32 lookups at a time, a level after the other, so that many cache misses are under way at once; returns how many it
 *  did. */
[[gnu::target("avx2")]] static int lookup_groups(const RadixImage& image, const uint32_t* addresses, uint16_t* out,
                                                 int n) {
  constexpr int kVectors = 4, kLanes = 8;
  const auto* root = reinterpret_cast<const int*>(image.root);
  const auto* nodes = reinterpret_cast<const int*>(image.nodes);
  const __m256i low = _mm256_set1_epi32(kNodeEntries - 1);
  int i = 0;
  for (; i + kVectors * kLanes <= n; i += kVectors * kLanes) {
    __m256i address[kVectors], entry[kVectors];
    __m256i any = _mm256_setzero_si256();
    for (int v = 0; v < kVectors; ++v) {
      address[v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(addresses + i + v * kLanes));
      entry[v] = _mm256_i32gather_epi32(root, _mm256_srli_epi32(address[v], 32 - kRootBits), 4);
      any = _mm256_or_si256(any, entry[v]);
    }
    // The sign bit says that an entry names a node; shifting by kNodeBits drops it.
    for (int shift = 32 - kRootBits - kNodeBits; _mm256_movemask_ps(_mm256_castsi256_ps(any)) != 0;
         shift -= kNodeBits) {
      any = _mm256_setzero_si256();
      for (int v = 0; v < kVectors; ++v) {
        const __m256i slot = _mm256_and_si256(_mm256_srl_epi32(address[v], _mm_cvtsi32_si128(shift)), low);
        const __m256i at = _mm256_or_si256(_mm256_slli_epi32(entry[v], kNodeBits), slot);
        entry[v] = _mm256_mask_i32gather_epi32(entry[v], nodes, at, entry[v], 4);
        any = _mm256_or_si256(any, entry[v]);
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(entry[v], entry[v]), 0x08);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i + v * kLanes), _mm256_castsi256_si128(packed));
    }
  }
  return i;
}
#endif

void RadixTable::lookup_bulk(const uint32_t* addresses, uint16_t* out, int n) const {
  int done = 0;
#ifdef HEDDLE_AVX2
  if (__builtin_cpu_supports("avx2")) done = lookup_groups(image(), addresses, out, n);
#endif
  for (; done < n; ++done) out[done] = hop_of(image(), addresses[done]);
}

}  // namespace heddle::ip_lookup
