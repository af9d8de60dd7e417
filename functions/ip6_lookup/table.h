#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <vector>

#include "core/huge_pages.h"
#include "core/table.h"
#include "functions/ip6_lookup/route.h"
#include "functions/ip6_lookup/rule.h"
#include "functions/ip6_lookup/trie.h"

namespace heddle::ip6_lookup {

/** What an image finds routes by: trees (tree_rule.h) or a trie (trie_rule.h). */
enum class EngineKind { tree, trie };

/** A way to look many addresses up: hops[i] = lookup() (rule.h) of addresses[i] (as they lie in packets), i in [0,
 *  n). */
struct Form {
  const char* name;
  void (*look_up)(const Image* image, const uint8_t (*addresses)[16], uint16_t* hops, int n);
  bool early = false;  ///< of use where trie_prefetch() has been called for the addresses some time before
};
/** Those that this processor has for images of one kind, with the early ones behind the others if `early`; the first is
 *  used where nothing has been measured. */
std::span<const Form> forms(EngineKind engine = EngineKind::tree, bool early = false);

/** Asks the cache for what a lookup in a trie reads first for an address as it lies in a packet. */
inline void trie_prefetch(const Image& image, const uint8_t* address) {
  __builtin_prefetch(&trie_of(image)[half_at(address) >> (64 - kTrieRootBits)]);
}

/** A set of routes as an Image. Trees are built anew for each change, beside the old image, which readers keep until
 *  they are done (reclaim()): 0.1 µs a route or so. A trie changes in place, and is built anew when it has no room. One
 *  thread changes the table while any number read. */
class RouteTable : public Table {
 public:
  explicit RouteTable(EngineKind engine = EngineKind::tree, size_t most_bytes = SIZE_MAX) { use(engine, most_bytes); }

  /** Empties the table, whose image is of this kind from now on and has at most so many bytes. No reader is there.
   *  Throws Error if they are too few. */
  void use(EngineKind engine, size_t most_bytes);
  EngineKind engine() const { return engine_; }

  /** Makes `routes` the set; of several with one prefix the last wins. Throws Error, with the table unchanged, if a
   *  port is above kMaxPorts - 1, or if the image would be too large. */
  void load(std::vector<Route> routes);

  /** Adds or replaces the routes `set` and removes those with the prefixes of `gone`. Throws as load() does. */
  void change(std::span<const Route> set, std::span<const Prefix> gone);

  /** Exchanges what is in two tables. No reader is there; copies do not follow. */
  void swap_routes(RouteTable& other);

  /** The hop of an address, by search of the routes, not of the image; for handlers. */
  std::optional<Hop> lookup(Address address) const;
  /** The route of exactly this prefix. */
  std::optional<Hop> find(Prefix prefix) const;
  const std::vector<Route>& routes() const { return routes_; }  ///< sorted by prefix

  std::span<const std::byte> bytes() const override { return {memory_.get(), bytes_}; }
  /** Without what a trie has ahead. */
  size_t bytes_used() const { return trie_ ? trie_->bytes_used() : bytes_; }
  bool has_retired() const override { return !retired_.empty() || (trie_ && trie_->has_retired()); }
  void reclaim() override {
    retired_.clear();
    if (trie_) trie_->reclaim();
  }

  /** For readers, who fetch it anew for each batch. */
  const Image& image() const { return *image_.load(std::memory_order_acquire); }

  /** hops[i] = lookup() (rule.h) of addresses[i] (as they lie in packets) in an image of this table, i in [0, n); n may
   *  be 0. Any number of threads may call it while the routes change. */
  void lookup_bulk(const Image& image, const uint8_t (*addresses)[16], uint16_t* hops, int n) const {
    form_.load(std::memory_order_relaxed)->look_up(&image, addresses, hops, n);
  }
  /** Makes lookup_bulk() work in the way that is the fastest here, with these routes; a millisecond or so. `early`: the
   *  memory of addresses can be asked for some time before they are looked up, so ways that rely on it are compared as
   *  well. Readers may go on. */
  void choose_form(bool early = false);
  /** The same if that was last done with less than half as many routes, or more than twice as many, with another
   *  `early`, or not at all. */
  void choose_form_again(bool early = false);
  const char* form() const { return form_.load(std::memory_order_relaxed)->name; }
  /** Whether lookup_bulk() relies on it that memory was asked for early. */
  bool looks_up_early() const { return form_.load(std::memory_order_relaxed)->early; }

  static constexpr uint32_t kMaxPorts = kFirstTree - 1;

 private:
  /** The routes with `set` and without those of `gone`. Both are sorted, without doubles, and have no prefix in
   *  common. */
  std::vector<Route> changed_routes(const std::vector<Route>& set, const std::vector<Prefix>& gone) const;
  /** Changes a trie in place. False, and nothing has changed: it has no room. */
  bool patch(const std::vector<Route>& set, const std::vector<Prefix>& gone);

  EngineKind engine_ = EngineKind::tree;
  size_t most_bytes_ = SIZE_MAX;
  std::vector<Route> routes_;
  HugePages memory_;
  size_t bytes_ = 0;
  std::optional<Trie> trie_;  // what changes a trie's image
  std::atomic<const Image*> image_{nullptr};
  std::vector<HugePages> retired_;
  std::atomic<const Form*> form_{nullptr};
  std::optional<size_t> chosen_with_;  // routes, when choose_form() was last called
  bool chosen_early_ = false;          // what it was told then
};

}  // namespace heddle::ip6_lookup
