#include "functions/ip_lookup/table.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <unordered_set>
#include <utility>

#include "core/error.h"

namespace heddle::ip_lookup {
namespace {

constexpr size_t kPatchGap = 4096;   // bytes: changes this near to each other are reported as one run
constexpr size_t kMeasured = 24576;  // addresses that choose_form() looks up
constexpr const char* kHopsText = "distinct next hops with gateways or high outputs";

uint64_t route_key(uint32_t address, uint32_t length) { return uint64_t{length} << 32 | address; }
uint64_t route_key(const Route& route) { return route_key(route.address, route.length); }
uint64_t hop_key(const Hop& hop) { return uint64_t{hop.gateway} << 32 | hop.port; }
bool is_plain(const Hop& hop) { return hop.gateway == 0 && hop.port < kPlainHops; }

std::string dotted(uint32_t address) {
  return format("%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255);
}

void check(const Route& route) {
  if (route.length > 32)
    throw Error(
        format("%s/%u is not an IPv4 prefix: the length must be 0 to 32", dotted(route.address).c_str(), route.length));
  const Route clean = normalised(route);
  if (clean.address != route.address)
    throw Error(format("%s/%u has bits set after its length: %s/%u would be right", dotted(route.address).c_str(),
                       route.length, dotted(clean.address).c_str(), route.length));
}

/** `free` of `limit` can be taken now; what is neither free nor `used` is retired. */
void check_free(const char* what, size_t wanted, size_t free, size_t limit, size_t used) {
  if (wanted <= free) return;
  const size_t retired = limit - free - used;
  std::string text =
      format("the route table needs room for %zu %s but has it for %zu", limit - free + wanted, what, limit);
  if (retired > 0) text += format("; %zu of them are retired: reclaim() them, then try again", retired);
  throw Error(text);
}

}  // namespace

RouteTable::RouteTable(size_t image_bytes, size_t memory_bytes, uint32_t blocks, const char* block_text)
    : memory_(map_huge_pages(memory_bytes)),
      image_bytes_(image_bytes),
      memory_bytes_(memory_bytes),
      block_text_(block_text),
      hop_routes_(kHops),
      blocks_{.next = 0, .limit = blocks} {
  set_plain_hops();
}

void RouteTable::set_plain_hops() {
  for (uint32_t port = 0; port < kPlainHops; ++port) hop(port + 1) = {0, port};
}

// ---- pools ----

uint32_t RouteTable::Pool::take() {
  ++used;
  if (freed.empty()) return next++;
  const uint32_t id = freed.back();
  freed.pop_back();
  return id;
}

void RouteTable::retire(bool is_block, uint32_t id) {
  --(is_block ? blocks_ : hop_ids_).used;
  retired_.push_back({is_block, id});
  ++retired_count_;
}

void RouteTable::reclaim(uint64_t mark) {
  for (; !retired_.empty() && retired_count_ - retired_.size() < mark; retired_.pop_front())
    (retired_.front().is_block ? blocks_ : hop_ids_).freed.push_back(retired_.front().id);
}

uint16_t RouteTable::acquire_hop(const Hop& hop) {
  if (is_plain(hop)) {
    const auto index = static_cast<uint16_t>(hop.port + 1);
    if (hop_routes_[index]++ == 0) ++hop_ids_.used;
    return index;
  }
  if (const auto known = hop_indices_.find(hop_key(hop)); known != hop_indices_.end()) {
    ++hop_routes_[known->second];
    return known->second;
  }
  const auto index = static_cast<uint16_t>(hop_ids_.take());
  hop_indices_.emplace(hop_key(hop), index);
  hop_routes_[index] = 1;
  Run run;
  this->hop(index) = hop;  // no entry names it yet
  changed(run, &hops()[index], sizeof hop);
  report(run);
  return index;
}

void RouteTable::release_hop(uint16_t index) {
  if (--hop_routes_[index] > 0) return;
  if (index <= kPlainHops) {
    --hop_ids_.used;
    return;
  }
  hop_indices_.erase(hop_key(hops()[index]));
  retire(false, index);
}

/** Whether everything that `routes` need can be taken from the pools; empty: once the table has been emptied. */
void RouteTable::check_room(std::span<const Route> routes, bool empty) const {
  std::unordered_set<uint64_t> fresh;
  for (const Route& route : routes) {
    const uint64_t key = hop_key(route.hop);
    if (!is_plain(route.hop) && (empty || !hop_indices_.contains(key))) fresh.insert(key);
  }
  const size_t limit = kHops - 1 - kPlainHops;
  check_free(kHopsText, fresh.size(), empty ? limit : hop_ids_.free(), limit, empty ? 0 : hop_indices_.size());
  check_free(block_text_, blocks_needed(routes, empty), empty ? blocks_.limit : blocks_.free(), blocks_.limit,
             empty ? 0 : blocks_.used);
}

// ---- changes to the image, each reported to the sink ----

void RouteTable::changed(Run& run, const void* where, size_t bytes) {
  if (silent_) return;
  const auto begin = static_cast<size_t>(static_cast<const std::byte*>(where) - memory_.get());
  if (begin < run.begin || begin > run.end + kPatchGap) report(run);
  if (run.end == 0) run.begin = begin;
  run.end = std::max(run.end, begin + bytes);
}

void RouteTable::set_patch_sink(PatchSink sink) {
  remove_copies(nullptr);
  if (sink) add_copy({std::move(sink)});
}

void RouteTable::report(Run& run) {
  if (run.end == 0) return;
  Table::changed(run.begin, bytes().subspan(run.begin, run.end - run.begin));
  run = {};
}

// ---- the set of routes ----

void RouteTable::add(const Route& route) {
  check(route);
  if (find(route.address, route.length) == route.hop) return;
  check_room({&route, 1}, false);
  insert(route);
}

/** add() once nothing can go wrong any more. */
void RouteTable::insert(const Route& route) {
  const uint16_t hop = acquire_hop(route.hop);
  const auto [place, is_new] = routes_.try_emplace(route_key(route), hop);
  set_entries(route, hop, is_new);
  if (is_new) {
    ++histogram_[route.length];
  } else {
    release_hop(std::exchange(place->second, hop));
  }
}

bool RouteTable::remove(uint32_t address, uint32_t length) {
  const auto place = length <= 32 ? routes_.find(route_key(address, length)) : routes_.end();
  if (place == routes_.end()) return false;
  const uint16_t old = place->second;
  routes_.erase(place);
  --histogram_[length];

  uint16_t cover = 0;
  uint8_t cover_length = 0;
  for (uint32_t shorter = length; shorter-- > 0 && cover == 0;) {
    if (histogram_[shorter] == 0) continue;
    const auto found = routes_.find(route_key(address & prefix_mask(shorter), shorter));
    if (found == routes_.end()) continue;
    cover = found->second;
    cover_length = static_cast<uint8_t>(shorter);
  }
  clear_entries(address, length, cover, cover_length);
  release_hop(old);
  return true;
}

size_t RouteTable::load(std::vector<Route> routes) {
  std::ranges::for_each(routes, check);
  // Shorter prefixes first: what a longer one then overwrites, nothing writes again. Of equal ones the last stays.
  const auto key = [](const Route& route) { return route_key(route); };
  if (!std::ranges::is_sorted(routes, {}, key)) std::ranges::stable_sort(routes, {}, key);
  size_t kept = 0;
  for (size_t i = 0; i < routes.size(); ++i) {
    if (i + 1 == routes.size() || route_key(routes[i]) != route_key(routes[i + 1])) routes[kept++] = routes[i];
  }
  const size_t superseded = routes.size() - kept;
  routes.resize(kept);
  check_room(routes, true);

  silent_ = true;
  clear();
  routes_.reserve(routes.size());
  if (loads_longest_first()) std::ranges::reverse(routes);
  for (const Route& route : routes) insert(route);
  silent_ = false;
  Table::changed(0, bytes());
  return superseded;
}

void RouteTable::clear() {
  if (!routes_.empty() || retired_count_ > 0) {
    std::memset(memory_.get(), 0, memory_bytes_);
    std::ranges::fill(hop_routes_, 0);
    set_plain_hops();
  }
  forget();
  routes_.clear();
  hop_indices_.clear();
  histogram_.fill(0);
  hop_ids_ = {.next = kPlainHops + 1, .limit = kHops};
  blocks_ = {.next = 0, .limit = blocks_.limit};
  retired_.clear();
}

void RouteTable::change(std::vector<Route> set, std::vector<Route> gone) {
  std::ranges::for_each(set, check);
  std::erase_if(set, [&](const Route& route) { return find(route.address, route.length) == route.hop; });
  check_room(set, false);
  // Longer prefixes are set before the shorter ones around them, and go after them: no address sees an answer in
  // between.
  std::ranges::sort(set, std::greater(), &Route::length);
  std::ranges::sort(gone, {}, &Route::length);
  // A hop that one route gives up and another takes stays in use meanwhile.
  std::vector<uint16_t> held;
  for (const Route& route : set) held.push_back(acquire_hop(route.hop));
  for (const Route& route : set) insert(route);
  for (const Route& route : gone) remove(route.address, route.length);
  for (const uint16_t hop : held) release_hop(hop);
}

void RouteTable::replace(const std::vector<Route>& routes) {
  std::unordered_map<uint64_t, Hop> wanted;
  wanted.reserve(routes.size());
  for (const Route& route : routes) wanted[route_key(route)] = route.hop;
  std::vector<Route> set, gone;
  for (const auto& [key, hop] : wanted)
    set.push_back({static_cast<uint32_t>(key), static_cast<uint8_t>(key >> 32), hop});
  for (const auto& [key, hop] : routes_)
    if (!wanted.contains(key)) gone.push_back({static_cast<uint32_t>(key), static_cast<uint8_t>(key >> 32), {}});
  change(std::move(set), std::move(gone));
}

std::optional<Hop> RouteTable::lookup(uint32_t address) const {
  uint16_t hop = 0;
  lookup_bulk(&address, &hop, 1);
  if (hop == 0) return std::nullopt;
  return hops()[hop];
}

std::optional<Hop> RouteTable::find(uint32_t address, uint32_t length) const {
  const auto place = length <= 32 ? routes_.find(route_key(address, length)) : routes_.end();
  if (place == routes_.end()) return std::nullopt;
  return hops()[place->second];
}

std::vector<Route> RouteTable::routes() const {
  std::vector<Route> all;
  all.reserve(routes_.size());
  for (const auto& [key, hop] : routes_)
    all.push_back({static_cast<uint32_t>(key), static_cast<uint8_t>(key >> 32), hops()[hop]});
  std::ranges::sort(all, {}, [](const Route& route) { return uint64_t{route.address} << 8 | route.length; });
  return all;
}

// Random ones, each in a random route.
std::vector<uint32_t> RouteTable::addresses_in_routes(size_t count) const {
  constexpr int kTries = 8;  // buckets may be empty, nearly all if routes have been removed
  std::mt19937 random(1);
  std::vector<uint32_t> addresses(count);
  for (uint32_t& address : addresses) {
    address = static_cast<uint32_t>(random());
    for (int tries = 0; tries < kTries && !routes_.empty(); ++tries) {
      const size_t bucket = random() % routes_.bucket_count();
      if (routes_.begin(bucket) == routes_.end(bucket)) continue;
      const uint64_t key = routes_.begin(bucket)->first;
      const uint32_t mask = prefix_mask(static_cast<uint32_t>(key >> 32));
      address = (address & ~mask) | static_cast<uint32_t>(key);
      break;
    }
  }
  return addresses;
}

void RouteTable::choose_form(bool early) {
  find_form(addresses_in_routes(kMeasured), early);
  chosen_with_ = size();
  chosen_early_ = early;
}

void RouteTable::choose_form_again(bool early) {
  if (!chosen_with_ || chosen_early_ != early || size() > 2 * *chosen_with_ || *chosen_with_ > 2 * size())
    choose_form(early);
}

size_t RouteTable::memory_bytes() const {
  const auto nodes = [](const auto& map) {
    return map.size() * 4 * sizeof(void*) + map.bucket_count() * sizeof(void*);
  };
  return memory_bytes_ + nodes(routes_) + nodes(hop_indices_) + hop_routes_.size() * sizeof(uint32_t) +
         retired_.size() * sizeof(Retired);
}

}  // namespace heddle::ip_lookup
