#pragma once

#include "functions/ip_lookup/radix_rule.h"
#include "functions/ip_lookup/table.h"

namespace heddle::ip_lookup {

inline constexpr uint32_t kNodes = 1 << 20;

/** A radix trie, 64.6 MiB without pointers, of which a table touches what it needs. Host byte order throughout, except
 *  Hop::gateway. */
struct RadixImage {
  Hop hops[kHops];                       ///< by hop index; hops[0] stays zero; the plain ones are always there
  uint32_t root[1 << kRootBits];         ///< by the first 16 bits: below kNodeEntry a hop index, else kNodeEntry + node
  uint32_t nodes[kNodes][kNodeEntries];  ///< by node and the next 4 bits: the same
};

/** The hop index of `address` (host byte order), 0 for no route. */
HEDDLE_HD inline uint16_t hop_of(const RadixImage& image, uint32_t address) {
  return radix_lookup(image.root, image.nodes[0], address);
}

/** Routes in a radix trie; its blocks are the nodes. */
class RadixTable : public RouteTable {
 public:
  RadixTable();  ///< empty. Throws Error when memory cannot be mapped.
  const RadixImage& image() const;
  void lookup_bulk(const uint32_t* addresses, uint16_t* out, int n) const override;

 private:
  struct Entries;

  void set_entries(const Route& route, uint16_t hop, bool is_new) override;
  void clear_entries(uint32_t address, uint32_t length, uint16_t cover, uint8_t cover_length) override;
  size_t blocks_needed(std::span<const Route> routes, bool empty) const override;
  Entries root();
  Entries entries_of(uint32_t node);
  uint32_t open_node(const Entries& parent, uint32_t slot);
  void paint(const Entries& entries, uint32_t first, uint32_t count, uint32_t length, uint16_t hop, uint8_t owner,
             Run& run);
};

}  // namespace heddle::ip_lookup
