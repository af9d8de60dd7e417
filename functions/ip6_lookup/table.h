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

/** A way to look many addresses up: hops[i] = lookup() (rule.h) of addresses[i] (as they lie in packets), i in [0,
 *  n). */
struct Form {
  const char* name;
  void (*look_up)(const Image* image, const uint8_t (*addresses)[16], uint16_t* hops, int n);
};
/** Those that this processor has; the first is used where nothing has been measured. */
std::span<const Form> forms();

/** A set of routes as an Image. Each change builds a new image beside the old one, which readers keep until they are
 *  done (reclaim()): 0.1 µs a route or so. One thread changes it while any number read. */
class RouteTable : public Table {
 public:
  RouteTable() { load({}); }

  /** Makes `routes` the set; of several with one prefix the last wins. Throws Error, with the table unchanged, if a
   *  port is above kMostPorts - 1. */
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

  /** hops[i] = lookup() (rule.h) of addresses[i] (as they lie in packets) in an image of this table, i in [0, n); n may
   *  be 0. Any number of threads may call it while the routes change. */
  void lookup_bulk(const Image& image, const uint8_t (*addresses)[16], uint16_t* hops, int n) const {
    form_.load(std::memory_order_relaxed)->look_up(&image, addresses, hops, n);
  }
  /** Makes lookup_bulk() work in the way that is the fastest here, with these routes; a millisecond or so. Readers may
   *  go on. */
  void choose_form();
  /** The same if that was last done with less than half as many routes, or more than twice as many, or not at all. */
  void choose_form_again();
  const char* form() const { return form_.load(std::memory_order_relaxed)->name; }

  static constexpr uint32_t kMostPorts = kFirstTree - 1;

 private:
  std::vector<Route> routes_;
  HugePages memory_;
  size_t bytes_ = 0;
  std::atomic<const Image*> image_{nullptr};
  std::vector<HugePages> retired_;
  std::atomic<const Form*> form_{&forms().front()};
  std::optional<size_t> chosen_with_;  // routes, when choose_form() was last called
};

}  // namespace heddle::ip6_lookup
