#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <vector>

#include "core/huge_pages.h"
#include "core/table.h"
#include "functions/ip6_lookup/route.h"
#include "functions/ip6_lookup/rule.h"

namespace heddle::ip6_lookup {

/** A set of routes as an Image. Each change builds a new image beside the old one, which readers keep until they are done
 *  (reclaim()): 0.1 µs a route or so. One thread changes it while any number read. */
class RouteTable : public Table {
 public:
  RouteTable() { load({}); }

  /** Makes `routes` the set; of several with one prefix the last wins. Throws Error, with the table unchanged, if a port is
   *  above kMostPorts - 1. */
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
  bool has_retired() const override { return !retired_.empty(); }
  void reclaim() override { retired_.clear(); }

  /** For readers, who fetch it anew for each batch. */
  const Image& image() const { return *image_.load(std::memory_order_acquire); }

  static constexpr uint32_t kMostPorts = kFirstTree - 1;

 private:
  std::vector<Route> routes_;
  HugePages memory_;
  size_t bytes_ = 0;
  std::atomic<const Image*> image_{nullptr};
  std::vector<HugePages> retired_;
};

/** hops[i] = lookup() (rule.h) of addresses[i] (as they lie in packets), i in [0, n); n may be 0. Any number of threads may call it. */
void lookup_bulk(const Image& image, const uint8_t (*addresses)[16], uint16_t* hops, int n);

/** The instructions that a lookup can be made of. */
enum class Instructions { portable, avx2, avx512 };
/** Those that this processor has, worst first. */
std::span<const Instructions> known_instructions();
/** lookup_bulk() with these, for tests and benchmarks. */
void lookup_bulk(Instructions, const Image& image, const uint8_t (*addresses)[16], uint16_t* hops, int n);

}  // namespace heddle::ip6_lookup
