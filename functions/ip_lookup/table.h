#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/huge_pages.h"
#include "core/table.h"
#include "functions/ip_lookup/route.h"

namespace heddle::ip_lookup {

/** A set of routes and an image that answers for it: flat bytes without pointers, which one copy moves to a GPU. Owns
 *  both; one thread changes it while any number read the image. How the image is laid out is up to the derived class;
 *  it begins with hops[kHops], where the hop indices that lookups give lead.
 *
 *  Readers see each address go from its old answer to its new one and nothing in between. A block of the image or hop
 *  index that a change frees is only retired, because a reader may still hold it; the owner gives it back for reuse:
 *      uint64_t mark = table.retired();   // after the change
 *      ... wait until every reader has finished the lookups (and uses of hops[]) it was in at that moment ...
 *      table.reclaim(mark); */
class RouteTable : public Table {
 public:
  /** Told each run of image bytes that changed, at its offset, in the order in which a concurrent reader of a copy must
   * see them: a hop before the entries that name it, a block before the entry that points to it. A run may include
   * unchanged bytes between nearby changes. The bytes are the host image itself: copy them before returning. Must not
   * throw and must not change the table. */
  using PatchSink = decltype(Copy::patch);

  /** Inserts the route or replaces the one of the same prefix. Throws Error, with the table unchanged, when the length
   * is over 32, host bits are set (see normalised()), or the image has no room left for it; when some of it waits as
   * retired, the Error says so: reclaim() and try again. */
  void add(const Route& route);

  /** Removes the route of exactly this prefix; its addresses fall back to the next shorter prefix. False: no such
   * route, nothing changed. `address` in host byte order. */
  bool remove(uint32_t address, uint32_t length);

  /** Replaces all routes; of several with one prefix the last wins. Returns how many were superseded that way. No
   * lookup may run meanwhile and everything retired is reclaimed; the sink gets the whole image as one patch. Throws
   * Error, with the table unchanged, on what add() refuses. */
  size_t load(std::vector<Route> routes);

  /** Adds the routes `set` (of one prefix at most one) and removes those with the prefixes of `gone` while readers go
   *  on: each address goes from its old answer to its new one. Throws Error, with the table unchanged, as add()
   *  does. */
  void change(std::vector<Route> set, std::vector<Route> gone);

  /** Makes `routes` the set of routes by change(). Of several with one prefix the last wins. */
  void replace(const std::vector<Route>& routes);

  /** The hop of `address` (host byte order), as a reader finds it. */
  std::optional<Hop> lookup(uint32_t address) const;
  /** The route of exactly this prefix. */
  std::optional<Hop> find(uint32_t address, uint32_t length) const;
  std::vector<Route> routes() const;  ///< sorted by address, then length

  /** out[i] = hop index of addresses[i] (host byte order), 0 for no route, i in [0, n); n may be 0. The arrays must not
   *  overlap. Any number of threads may call it while the table changes. Allocates nothing, never fails. */
  virtual void lookup_bulk(const uint32_t* addresses, uint16_t* out, int n) const = 0;
  /** Makes lookup_bulk() work in the way that is the fastest here, with this table and addresses in its routes, if
   *  there are several; some milliseconds. `early`: the memory of addresses can be asked for some time before they are
   *  looked up, so ways that rely on it are compared as well. Readers may go on. */
  void choose_form(bool early = false);
  /** The same if that was last done with less than half as many routes, or more than twice as many, with another
   *  `early`, or not at all. */
  void choose_form_again(bool early = false);
  std::optional<size_t> chosen_with() const { return chosen_with_; }  ///< routes, when that was last done
  virtual const char* form() const { return ""; }  ///< the way in which it works, "" if there is but one
  /** Whether lookup_bulk() relies on it that memory was asked for early. */
  virtual bool looks_up_early() const { return false; }

  /** What hears of changes from now on; an empty function for nobody. The image so far is not reported. */
  void set_patch_sink(PatchSink sink);

  uint64_t retired() const { return retired_count_; }  ///< blocks and hop indices retired since construction
  bool has_retired() const override { return !retired_.empty(); }
  void reclaim() override { reclaim(UINT64_MAX); }
  void reclaim(uint64_t mark);  ///< frees for reuse what was retired up to `mark`: no reader has it

  std::span<const std::byte> bytes() const override {
    return {memory_.get(), image_bytes_};
  }                                                                                ///< the image; it never moves
  const Hop* hops() const { return reinterpret_cast<const Hop*>(memory_.get()); }  ///< [kHops], by hop index
  size_t size() const { return routes_.size(); }
  uint32_t blocks_used() const { return blocks_.used; }  ///< retired ones excluded
  uint32_t hops_used() const { return hop_ids_.used; }   ///< distinct hops of the current routes, plain ones included
  const std::array<size_t, 33>& histogram() const { return histogram_; }  ///< routes by length
  size_t memory_bytes() const;  ///< address space of image and bookkeeping; untouched pages of it use no memory

 protected:
  /** A byte range of the image that waits to be reported. */
  struct Run {
    size_t begin = 0, end = 0;
  };
  /** A derived class keeps its image at the start of `memory_bytes` of zeros, and what else it likes behind it. Its
   *  image has `blocks` blocks, which an Error calls `block_text`. */
  RouteTable(size_t image_bytes, size_t memory_bytes, uint32_t blocks, const char* block_text);

  /** Makes the route's entries say `hop`, for which there is room; `is_new`: it replaces none. */
  virtual void set_entries(const Route& route, uint16_t hop, bool is_new) = 0;
  /** Gives the prefix's entries to `cover`, the hop index of the next shorter prefix, which has `cover_length` (0, 0:
   *  there is none). */
  virtual void clear_entries(uint32_t address, uint32_t length, uint16_t cover, uint8_t cover_length) = 0;
  /** Blocks that have to be taken before all of `routes` are in an image that is as it is, or `empty`. */
  virtual size_t blocks_needed(std::span<const Route> routes, bool empty) const = 0;
  /** Forgets what it keeps outside of the memory given, which has been set to zero. */
  virtual void forget() {}
  /** Of choose_form(): compares the ways by looking up `addresses`, host byte order, most of which have a route. */
  virtual void find_form(std::span<const uint32_t> /*addresses*/, bool /*early*/) {}
  /** Whether load() inserts longer prefixes first. */
  virtual bool loads_longest_first() const { return false; }

  std::byte* memory() { return memory_.get(); }
  const std::byte* memory() const { return memory_.get(); }
  uint32_t take_block() { return blocks_.take(); }
  void retire_block(uint32_t block) { retire(true, block); }
  /** Stores an entry whole; `run` collects what to report. */
  template <class T>
  void publish(T& entry, T value, Run& run) {
    publish(std::span(&entry, 1), value, run);
  }
  /** The same of entries side by side, each of which becomes `value`. */
  template <class T>
  void publish(std::span<T> entries, T value, Run& run) {
    size_t first = 0, end = entries.size();  // of those that have another value
    while (first < end && entries[first] == value) ++first;
    while (first < end && entries[end - 1] == value) --end;
    if (first == end) return;
    for (size_t i = first; i < end; ++i) __atomic_store_n(&entries[i], value, __ATOMIC_RELEASE);
    changed(run, &entries[first], (end - first) * sizeof(T));
  }
  void changed(Run& run, const void* where, size_t bytes);
  void report(Run& run);

 private:
  /** Numbers handed out from [next, limit) and taken back. */
  struct Pool {
    uint32_t next, limit, used = 0;
    std::vector<uint32_t> freed{};
    size_t free() const { return freed.size() + limit - next; }
    uint32_t take();
  };
  struct Retired {
    bool is_block;
    uint32_t id;
  };

  std::vector<uint32_t> addresses_in_routes(size_t count) const;
  Hop& hop(uint32_t index) { return reinterpret_cast<Hop*>(memory_.get())[index]; }
  void check_room(std::span<const Route> routes, bool empty) const;
  void insert(const Route& route);
  void clear();
  void set_plain_hops();
  uint16_t acquire_hop(const Hop& hop);
  void release_hop(uint16_t index);
  void retire(bool is_block, uint32_t id);

  HugePages memory_;
  size_t image_bytes_, memory_bytes_;
  const char* block_text_;
  std::unordered_map<uint64_t, uint16_t> routes_;       ///< length << 32 | address: hop index
  std::unordered_map<uint64_t, uint16_t> hop_indices_;  ///< gateway << 32 | port: hop index
  std::vector<uint32_t> hop_routes_;                    ///< by hop index: routes that use it
  std::array<size_t, 33> histogram_{};
  Pool hop_ids_{.next = kPlainHops + 1, .limit = kHops};
  Pool blocks_;
  std::deque<Retired> retired_;  ///< oldest first
  uint64_t retired_count_ = 0;
  std::optional<size_t> chosen_with_;
  bool chosen_early_ = false;
  bool silent_ = false;  ///< while load() rebuilds the image
};

}  // namespace heddle::ip_lookup
