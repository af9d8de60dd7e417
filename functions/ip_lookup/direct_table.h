#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "functions/ip_lookup/direct_rule.h"
#include "functions/ip_lookup/table.h"

namespace heddle::ip_lookup {

inline constexpr uint32_t kGroups =
    65536 - kFirstGroup;  ///< second-level groups: /24s that hold routes longer than /24
static_assert(kHops == kFirstGroup);

/** DIR-24-8-BASIC, 40.4 MiB without pointers. Host byte order throughout, except Hop::gateway. Readers go through
 *  direct_lookup() or RouteTable::lookup_bulk(). */
struct DirectImage {
  Hop hops[kHops];          ///< by hop index; hops[0] stays zero; the plain ones are always there
  uint16_t tbl24[1 << 24];  ///< by the first 24 bits: below kFirstGroup a hop index, else kFirstGroup + group
  uint16_t tbl8[kGroups][kGroupEntries];  ///< by group and the last 8 bits: a hop index
};

/** The hop index of `address` (host byte order), 0 for no route. */
HEDDLE_HD inline uint16_t hop_of(const DirectImage& image, uint32_t address) {
  return dir24_lookup(image.tbl24, image.tbl8[0], address);
}

/** A way to look up addresses [n] (host byte order): hops[i] is hop_of() of addresses[i]. */
struct DirectForm {
  const char* name;
  void (*look_up)(const DirectImage& image, const uint32_t* addresses, uint16_t* hops, int n);
  bool early = false;  ///< of use where direct_prefetch() has been called for the addresses some time before
};
/** Those of this processor, with the early one behind the others if `early`; the first one is best where nothing has
 *  been measured. */
std::span<const DirectForm> direct_forms(bool early = false);

/** Asks the cache for what hop_of() reads first for `address` (host byte order). */
inline void direct_prefetch(const DirectImage& image, uint32_t address) {
  __builtin_prefetch(&image.tbl24[address >> 8]);
}

/** Routes by direct indexing; its blocks are the groups. */
class DirectTable : public RouteTable {
 public:
  DirectTable();  ///< empty. Throws Error when memory cannot be mapped.
  const DirectImage& image() const;
  void lookup_bulk(const uint32_t* addresses, uint16_t* out, int n) const override {
    form_.load(std::memory_order_relaxed)->look_up(image(), addresses, out, n);
  }
  const char* form() const override { return form_.load(std::memory_order_relaxed)->name; }
  bool looks_up_early() const override { return form_.load(std::memory_order_relaxed)->early; }

 private:
  void set_entries(const Route& route, uint16_t hop, bool is_new) override;
  void clear_entries(uint32_t address, uint32_t length, uint16_t cover, uint8_t cover_length) override;
  void find_form(std::span<const uint32_t> addresses, bool early) override;
  size_t blocks_needed(std::span<const Route> routes, bool empty) const override;
  void open_group(const Route& route, uint16_t hop);
  void close_group(uint32_t slot, uint16_t hop, uint8_t owner);
  void paint(uint32_t address, uint32_t length, uint16_t hop, uint8_t owner);
  template <class IsOther>
  void paint_entries(uint16_t* entries, uint8_t* owners, uint32_t count, uint32_t length, uint16_t hop, uint8_t owner,
                     Run& run, const IsOther& is_other);

  std::vector<uint16_t> group_routes_;  ///< by group: routes longer than /24 in it
  std::atomic<const DirectForm*> form_;
};

}  // namespace heddle::ip_lookup
