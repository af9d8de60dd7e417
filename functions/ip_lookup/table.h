#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "functions/ip_lookup/rule.h"

namespace heddle::ip_lookup {

inline constexpr uint32_t kHops = kFirstGroup;  ///< hop indices; 0 means "no route", so 49,151 are usable
/** Hop index i in 1..kPlainHops is output i - 1 without a gateway, whatever the table holds: for these, which are all that
 *  most tables have, nobody needs to read hops[]. */
inline constexpr uint32_t kPlainHops = 256;
inline constexpr uint32_t kGroups =
    65536 - kFirstGroup;  ///< second-level groups: /24s that hold routes longer than /24

/** Where a packet goes. gateway: IPv4 address in network byte order, 0 = none (the destination is on the link);
 *  port: output, any 32-bit value. */
struct Hop {
  uint32_t gateway;
  uint32_t port;
  bool operator==(const Hop&) const = default;
};

/** A prefix and where it leads. address: host byte order, bits after the first `length` (0..32) are zero. */
struct Route {
  uint32_t address;
  uint8_t length;
  Hop hop;
  bool operator==(const Route&) const = default;
};

/** The bits of an address (host byte order) that a prefix of `length` (0..32) fixes. */
constexpr uint32_t prefix_mask(uint32_t length) { return length == 0 ? 0 : ~uint32_t{0} << (32 - length); }

/** `route` with the address bits after its length cleared. */
constexpr Route normalised(Route route) {
  route.address &= prefix_mask(route.length);
  return route;
}

/** The whole lookup structure, 40.4 MiB without pointers: one memcpy moves it to a GPU. Host byte order throughout,
 *  except Hop::gateway. Readers go through dir24_lookup() (rule.h) or lookup_bulk(). */
struct RouteImage {
  uint16_t tbl24[1 << 24];  ///< by the first 24 bits: below kFirstGroup a hop index, else kFirstGroup + group
  uint16_t tbl8[kGroups][kGroupEntries];  ///< by group and the last 8 bits: a hop index
  Hop hops[kHops];                        ///< by hop index; hops[0] stays zero; the plain ones are always there
  uint32_t has_gateways;  ///< whether any hop in use has a gateway; read it after the lookup whose hops it speaks for
};

/** hops[i] = hop index of addresses[i] (host byte order), 0 for no route, i in [0, n); n may be 0. The arrays must not
 *  overlap. Any number of threads may call it while a RouteTable changes the image. Allocates nothing, never fails. */
void lookup_bulk(const RouteImage& image, const uint32_t* addresses, uint16_t* hops, int n);

/** A set of routes and the image that answers for it. Owns both; one thread changes it while any number read image().
 *
 *  Readers see each address go from its old answer to its new one and nothing in between. A group or hop index that a
 *  change frees is only retired, because a reader may still hold it; the owner gives it back for reuse:
 *      uint64_t mark = table.retired();   // after the change
 *      ... wait until every reader has finished the lookups (and uses of hops[]) it was in at that moment ...
 *      table.reclaim(mark); */
class RouteTable {
 public:
  /** Told each run of image bytes that changed, at its offset in RouteImage, in the order in which a concurrent reader
   * of a copy must see them: a hop before the entries that name it, a group before the entry that points to it. A run
   * may include unchanged bytes between nearby changes. The bytes are the host image itself: copy them before
   * returning. Must not throw and must not change the table. */
  using PatchSink = std::function<void(size_t offset, std::span<const std::byte> bytes)>;

  RouteTable();  ///< empty. Throws Error when memory cannot be mapped.

  /** Inserts the route or replaces the one of the same prefix. Throws Error, with the table unchanged, when the length
   * is over 32, host bits are set (see normalised()), or the image has no free group or hop index left for it; when
   * retired ones wait, the Error says so: reclaim() and try again. */
  void add(const Route& route);

  /** Removes the route of exactly this prefix; its addresses fall back to the next shorter prefix. False: no such
   * route, nothing changed. `address` in host byte order. */
  bool remove(uint32_t address, uint32_t length);

  /** Replaces all routes; of several with one prefix the last wins. Returns how many were superseded that way. No
   * lookup may run meanwhile and everything retired is reclaimed; the sink gets the whole image as one patch. Throws
   * Error, with the table unchanged, on what add() refuses. */
  size_t load(std::vector<Route> routes);

  /** Makes `routes` the set of routes while readers go on: sets what is new or differs, then removes what is not in it.
   *  Each address goes from its old answer to its new one. Of several with one prefix the last wins. Throws Error as add()
   *  does; the table then holds some of the new routes and all of the old ones that are not replaced. */
  void replace(const std::vector<Route>& routes);

  /** The hop of `address` (host byte order), as a reader finds it. */
  std::optional<Hop> lookup(uint32_t address) const;

  /** What hears of changes from now on; an empty function for nobody. The image so far is not reported. */
  void set_patch_sink(PatchSink sink) { sink_ = std::move(sink); }

  uint64_t retired() const { return retired_count_; }  ///< groups and hop indices retired since construction
  void reclaim(uint64_t mark = UINT64_MAX);  ///< frees for reuse what was retired up to `mark`: no reader has it

  const RouteImage& image() const { return memory_->image; }  ///< stays where it is for the life of the table
  size_t size() const { return routes_.size(); }
  uint32_t groups_used() const { return groups_.used; }  ///< retired ones excluded
  uint32_t hops_used() const { return hops_.used; }      ///< distinct hops of the current routes, plain ones included
  const std::array<size_t, 33>& histogram() const { return histogram_; }  ///< routes by length
  size_t memory_bytes() const;  ///< address space of image and bookkeeping; untouched pages of it use no memory

 private:
  /** The image and, by entry, the length of the prefix that owns it (0: the default route, or none): one mapping. */
  struct Memory {
    RouteImage image;
    uint8_t owner24[1 << 24];  ///< kInGroup where the entry points to a group
    uint8_t owner8[kGroups][kGroupEntries];
  };
  struct Unmap {
    void operator()(Memory* memory) const;
  };
  /** Numbers handed out from [next, limit) and taken back. */
  struct Pool {
    uint32_t next, limit, used = 0;
    std::vector<uint16_t> freed{};
    bool empty() const { return freed.empty() && next == limit; }
    uint16_t take();
  };
  struct Retired {
    bool is_group;
    uint16_t id;
  };
  /** A byte range of the image that waits to be reported. */
  struct Run {
    size_t begin = 0, end = 0;
  };

  static Memory* map_memory();
  void insert(const Route& route);
  void clear();
  void set_plain_hops();
  uint16_t acquire_hop(const Hop& hop);
  void release_hop(uint16_t index);
  void retire(bool is_group, uint16_t id);
  void open_group(const Route& route, uint16_t hop);
  void close_group(uint32_t slot, uint16_t hop, uint8_t owner);
  void paint(uint32_t address, uint32_t length, uint16_t hop, uint8_t owner);
  void paint_group(uint32_t group, uint32_t first, uint32_t count, uint32_t length, uint16_t hop, uint8_t owner, Run&);
  void publish(uint16_t& entry, uint16_t value, Run& run);
  void set_has_gateways(uint32_t value);
  void changed(Run& run, const void* where, size_t bytes);
  void report(Run& run);

  std::unique_ptr<Memory, Unmap> memory_{map_memory()};
  std::unordered_map<uint64_t, uint16_t> routes_;       ///< length << 32 | address: hop index
  std::unordered_map<uint64_t, uint16_t> hop_indices_;  ///< gateway << 32 | port: hop index
  std::vector<uint32_t> hop_routes_;                    ///< by hop index: routes that use it
  std::vector<uint16_t> group_routes_;                  ///< by group: routes longer than /24 in it
  std::array<size_t, 33> histogram_{};
  uint32_t gateways_ = 0;  ///< hops with a gateway, retired ones included
  Pool hops_{.next = kPlainHops + 1, .limit = kHops};
  Pool groups_{.next = 0, .limit = kGroups};
  std::deque<Retired> retired_;  ///< oldest first
  uint64_t retired_count_ = 0;
  PatchSink sink_;
};

}  // namespace heddle::ip_lookup
