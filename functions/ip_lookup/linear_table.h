#pragma once

#include <array>
#include <set>
#include <unordered_map>

#include "functions/ip_lookup/linear_rule.h"
#include "functions/ip_lookup/table.h"

namespace heddle::ip_lookup {

inline constexpr uint32_t kLinearEntries = 1 << 20;

/** An array of routes, 8.4 MiB without pointers, of which a table touches what it needs. */
struct LinearImage {
  Hop hops[kHops];                   ///< by hop index; hops[0] stays zero; the plain ones are always there
  uint64_t entries[kLinearEntries];  ///< see linear_rule.h; longer prefixes first, those of one length in any order
  uint64_t state;                    ///< number of entries, empty ones between them included; above it, that of changes
};

/** The hop index of `address` (host byte order), 0 for no route. */
HEDDLE_HD inline uint16_t hop_of(const LinearImage& image, uint32_t address) {
  return linear_lookup(image.entries, &image.state, address);
}

/** Routes in an array that is searched from its start to its end.
 *
 *  A new route goes behind those of its length. Room is made as in a TCAM (Shah, Gupta, "Fast Updating Algorithms for
 *  TCAMs", IEEE Micro 21(1), 2001): each shorter length moves its first entry behind its last, at most 32 in all. An
 *  entry is written at its new place, further on, before its old one is overwritten; so a reader, who goes forward,
 *  meets it at one place or at both; one that a whole change overtakes begins again. A removed route leaves an empty
 *  entry, which the next of its length or of a longer one takes, and which is in nobody's way at the end of the
 *  array. */
class LinearTable : public RouteTable {
 public:
  LinearTable();  ///< empty. Throws Error when memory cannot be mapped.
  const LinearImage& image() const { return *reinterpret_cast<const LinearImage*>(memory()); }
  void lookup_bulk(const uint32_t* addresses, uint16_t* out, int n) const override;

 private:
  void set_entries(const Route& route, uint16_t hop, bool is_new) override;
  void clear_entries(uint32_t address, uint32_t length, uint16_t cover, uint8_t cover_length) override;
  size_t blocks_needed(std::span<const Route> routes, bool empty) const override;
  void forget() override;
  bool loads_longest_first() const override { return true; }
  LinearImage& image() { return *reinterpret_cast<LinearImage*>(memory()); }
  uint32_t take_entry(uint32_t length);
  void drop_empty_end();
  void store(uint32_t place, uint64_t entry);
  void finish_change(uint32_t count);

  std::array<uint32_t, 34> end_{};  ///< by length: where its entries end; those of length + 1 end where they begin
  std::array<std::set<uint32_t>, 33> empty_;   ///< by length: its empty entries
  std::unordered_map<uint64_t, uint32_t> at_;  ///< address and open bits (the entry without its hop): its place
};

}  // namespace heddle::ip_lookup
