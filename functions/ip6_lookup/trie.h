#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "core/huge_pages.h"
#include "functions/ip6_lookup/route.h"
#include "functions/ip6_lookup/rule.h"

namespace heddle::ip6_lookup {

/** What changes an Image with a trie, on one thread, while any number read it. Each address goes from its old answer to
 *  its new one. */
class Trie {
 public:
  /** Told each run of bytes of the image that has changed, in the order in which readers of a copy must see them. */
  using Report = std::function<void(size_t offset, std::span<const std::byte> bytes)>;
  /** A route that goes, and the one that its addresses fall back to; null: none. */
  struct Gone {
    Prefix prefix;
    const Route* cover;
  };

  /** Makes an image of routes, sorted by prefix and one for each, with room for a quarter more. Throws Error if they
   *  need more than `most_bytes`, or have too many gateways. */
  Trie(std::span<const Route> routes, size_t most_bytes);

  /** The image, which is the caller's from now on. */
  HugePages take_memory() { return std::move(memory_); }
  size_t bytes() const { return bytes_; }
  size_t bytes_used() const;  ///< without the groups that nothing needs

  /** Whether there is room for these routes, sorted by prefix. */
  bool has_room(std::span<const Route> routes) const;
  /** Adds or replaces the routes `set`, for which there is room, and then removes others. A cover is one of those that
   *  stay or have been set. */
  void change(std::span<const Route> set, std::span<const Gone> gone, const Report& report);

  bool has_retired() const { return !retired_.empty(); }
  void reclaim();  ///< groups that have been left are free again: no reader is in them

 private:
  /** Entries [begin, end) of the image that wait to be reported. */
  struct Run {
    size_t begin = 0, end = 0;
  };

  uint32_t* entries() const { return const_cast<uint32_t*>(trie_of(*image_)); }
  size_t groups_missing(std::span<const Route> routes, bool empty) const;
  uint32_t value_of(const Hop& hop);
  void set(const Route& route);
  void remove(const Gone& route);
  void open_group(size_t parent);
  void paint(size_t first, size_t count, uint32_t longest, uint32_t entry);
  void publish(size_t at, size_t count, uint32_t entry, Run& run);
  void report(const Run& run);
  void report(const void* where, size_t bytes);

  HugePages memory_;
  size_t bytes_ = 0;
  Image* image_ = nullptr;
  uint32_t groups_ = 0, next_group_ = 0;  // there are; never used so far from here on
  std::vector<uint32_t> free_, retired_;
  std::map<std::pair<Address, uint32_t>, uint32_t> values_;  // by gateway and output
  const Report* report_ = nullptr;                           // during a change
};

}  // namespace heddle::ip6_lookup
