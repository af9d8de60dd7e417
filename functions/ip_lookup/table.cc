#include "functions/ip_lookup/table.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_set>

#include "core/error.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(__SANITIZE_THREAD__)
#define HEDDLE_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HEDDLE_THREAD_SANITIZER
#endif
#endif

namespace heddle::ip_lookup {
namespace {

constexpr uint8_t kInGroup = 255;   // an owner24 value: the owners are in owner8
constexpr size_t kPatchGap = 4096;  // bytes: changes this near to each other are reported as one run
constexpr size_t kHugePage = size_t{2} << 20;

uint64_t route_key(uint32_t address, uint32_t length) { return uint64_t{length} << 32 | address; }
uint64_t route_key(const Route& route) { return route_key(route.address, route.length); }
uint64_t hop_key(const Hop& hop) { return uint64_t{hop.gateway} << 32 | hop.port; }

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

/** retired: how many of the needed ones are no longer in use. */
void check_room(const char* what, size_t needed, size_t limit, size_t retired) {
  if (needed <= limit) return;
  std::string text = format("the route table needs room for %zu %s but has it for %zu", needed, what, limit);
  if (retired > 0) text += format("; %zu of them are retired: reclaim() them, then try again", retired);
  throw Error(text);
}

constexpr const char* kGroupsText = "/24 networks with routes longer than /24";
constexpr const char* kHopsText = "distinct next hops with gateways or high outputs";
constexpr uint32_t kPooledHops = kHops - 1 - kPlainHops;

bool is_plain(const Hop& hop) { return hop.gateway == 0 && hop.port < kPlainHops; }

}  // namespace

// ---- memory and pools ----

RouteTable::Memory* RouteTable::map_memory() {
  // Mapped with room to start at a huge page: the first level then needs 16 TLB entries instead of 8192.
  const size_t bytes = sizeof(Memory), reserve = bytes + kHugePage;
  void* start = mmap(nullptr, reserve, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED)
    throw Error(format("cannot map %zu MiB for a route table: %s; free memory or raise ulimit -v", bytes >> 20,
                       std::strerror(errno)));
  char* begin = static_cast<char*>(start);
  const size_t skip = -reinterpret_cast<uintptr_t>(begin) % kHugePage;
  const size_t tail = (reserve - skip - bytes) & ~size_t{4095};
  if (skip > 0) munmap(begin, skip);
  if (tail > 0) munmap(begin + reserve - tail, tail);
  madvise(begin + skip, bytes, MADV_HUGEPAGE);  // only a hint: without huge pages the table is slower, not wrong
  return reinterpret_cast<Memory*>(begin + skip);
}

void RouteTable::Unmap::operator()(Memory* memory) const { munmap(memory, sizeof(Memory)); }

uint16_t RouteTable::Pool::take() {
  ++used;
  if (freed.empty()) return static_cast<uint16_t>(next++);
  const uint16_t id = freed.back();
  freed.pop_back();
  return id;
}

void RouteTable::retire(bool is_group, uint16_t id) {
  --(is_group ? groups_ : hops_).used;
  retired_.push_back({is_group, id});
  ++retired_count_;
}

void RouteTable::reclaim(uint64_t mark) {
  for (; !retired_.empty() && retired_count_ - retired_.size() < mark; retired_.pop_front()) {
    const Retired& oldest = retired_.front();
    (oldest.is_group ? groups_ : hops_).freed.push_back(oldest.id);
    if (!oldest.is_group && image().hops[oldest.id].gateway != 0 && --gateways_ == 0) set_has_gateways(0);
  }
}

size_t RouteTable::memory_bytes() const {
  const auto nodes = [](const auto& map) {
    return map.size() * 4 * sizeof(void*) + map.bucket_count() * sizeof(void*);
  };
  return sizeof(Memory) + nodes(routes_) + nodes(hop_indices_) + hop_routes_.size() * sizeof(uint32_t) +
         group_routes_.size() * sizeof(uint16_t) + retired_.size() * sizeof(Retired);
}

// ---- changes to the image, each reported to the sink ----

void RouteTable::changed(Run& run, const void* where, size_t bytes) {
  if (!sink_) return;
  const size_t begin = static_cast<size_t>(static_cast<const char*>(where) - reinterpret_cast<const char*>(&image()));
  if (begin < run.begin || begin > run.end + kPatchGap) report(run);
  if (run.end == 0) run.begin = begin;
  run.end = std::max(run.end, begin + bytes);
}

void RouteTable::report(Run& run) {
  if (run.end == 0) return;
  sink_(run.begin, {reinterpret_cast<const std::byte*>(&image()) + run.begin, run.end - run.begin});
  run = {};
}

void RouteTable::publish(uint16_t& entry, uint16_t value, Run& run) {
  if (entry == value) return;
  __atomic_store_n(&entry, value, __ATOMIC_RELEASE);
  changed(run, &entry, sizeof entry);
}

void RouteTable::set_has_gateways(uint32_t value) {
  Run run;
  __atomic_store_n(&memory_->image.has_gateways, value, __ATOMIC_RELEASE);
  changed(run, &image().has_gateways, sizeof value);
  report(run);
}

uint16_t RouteTable::acquire_hop(const Hop& hop) {
  if (is_plain(hop)) {
    const auto index = static_cast<uint16_t>(hop.port + 1);
    if (hop_routes_[index]++ == 0) ++hops_.used;
    return index;
  }
  if (const auto known = hop_indices_.find(hop_key(hop)); known != hop_indices_.end()) {
    ++hop_routes_[known->second];
    return known->second;
  }
  const uint16_t index = hops_.take();
  hop_indices_.emplace(hop_key(hop), index);
  hop_routes_[index] = 1;
  Run run;
  memory_->image.hops[index] = hop;  // no entry names it yet
  changed(run, &image().hops[index], sizeof hop);
  report(run);
  if (hop.gateway != 0 && ++gateways_ == 1) set_has_gateways(1);
  return index;
}

void RouteTable::release_hop(uint16_t index) {
  if (--hop_routes_[index] > 0) return;
  if (index <= kPlainHops) {
    --hops_.used;
    return;
  }
  hop_indices_.erase(hop_key(image().hops[index]));
  retire(false, index);
}

/** The /24 of a route longer than that gets its group: complete first, then pointed to. */
void RouteTable::open_group(const Route& route, uint16_t hop) {
  const uint32_t slot = route.address >> 8, group = groups_.take();
  const uint32_t first = route.address & 255, last = first + (1u << (32 - route.length)) - 1;
  Run run;
  for (uint32_t i = 0; i < kGroupEntries; ++i) {
    const bool mine = first <= i && i <= last;
    __atomic_store_n(&memory_->image.tbl8[group][i], mine ? hop : image().tbl24[slot], __ATOMIC_RELAXED);
    memory_->owner8[group][i] = mine ? route.length : memory_->owner24[slot];
  }
  changed(run, image().tbl8[group], sizeof image().tbl8[group]);
  report(run);
  publish(memory_->image.tbl24[slot], static_cast<uint16_t>(kFirstGroup + group), run);
  report(run);
  memory_->owner24[slot] = kInGroup;
  group_routes_[group] = 1;
}

/** The last route longer than /24 has left a /24: its entry answers for all of it again. */
void RouteTable::close_group(uint32_t slot, uint16_t hop, uint8_t owner) {
  const auto group = static_cast<uint16_t>(image().tbl24[slot] - kFirstGroup);
  Run run;
  publish(memory_->image.tbl24[slot], hop, run);
  report(run);
  memory_->owner24[slot] = owner;
  retire(true, group);
}

/** Gives the prefix's entries that no longer prefix owns to `hop`, on behalf of a prefix of length `owner`. */
void RouteTable::paint(uint32_t address, uint32_t length, uint16_t hop, uint8_t owner) {
  const uint32_t slot = address >> 8;
  Run first_level, second_level;
  if (length > 24) {
    const uint32_t group = image().tbl24[slot] - kFirstGroup;
    paint_group(group, address & 255, 1u << (32 - length), length, hop, owner, second_level);
  } else {
    for (uint32_t i = slot; i < slot + (1u << (24 - length)); ++i) {
      if (memory_->owner24[i] <= length) {
        publish(memory_->image.tbl24[i], hop, first_level);
        memory_->owner24[i] = owner;
      } else if (memory_->owner24[i] == kInGroup) {
        paint_group(image().tbl24[i] - kFirstGroup, 0, kGroupEntries, length, hop, owner, second_level);
      }
    }
  }
  report(first_level);
  report(second_level);
}

void RouteTable::paint_group(uint32_t group, uint32_t first, uint32_t count, uint32_t length, uint16_t hop,
                             uint8_t owner, Run& run) {
  for (uint32_t i = first; i < first + count; ++i) {
    if (memory_->owner8[group][i] > length) continue;
    publish(memory_->image.tbl8[group][i], hop, run);
    memory_->owner8[group][i] = owner;
  }
}

// ---- the set of routes ----

RouteTable::RouteTable() : hop_routes_(kHops), group_routes_(kGroups) { set_plain_hops(); }

void RouteTable::set_plain_hops() {
  for (uint32_t port = 0; port < kPlainHops; ++port) memory_->image.hops[port + 1] = {0, port};
}

void RouteTable::add(const Route& route) {
  check(route);
  const auto old = routes_.find(route_key(route));
  if (old != routes_.end() && image().hops[old->second] == route.hop) return;
  if (hops_.empty() && !is_plain(route.hop) && !hop_indices_.contains(hop_key(route.hop)))
    check_room(kHopsText, kPooledHops + 1, kPooledHops, kPooledHops - static_cast<uint32_t>(hop_indices_.size()));
  if (groups_.empty() && route.length > 24 && memory_->owner24[route.address >> 8] != kInGroup)
    check_room(kGroupsText, kGroups + 1, kGroups, kGroups - groups_.used);
  insert(route);
}

/** add() once nothing can go wrong any more. */
void RouteTable::insert(const Route& route) {
  const uint16_t hop = acquire_hop(route.hop);
  const auto [place, is_new] = routes_.try_emplace(route_key(route), hop);
  const uint32_t slot = route.address >> 8;
  if (route.length > 24 && memory_->owner24[slot] != kInGroup) {
    open_group(route, hop);
  } else {
    if (route.length > 24 && is_new) ++group_routes_[image().tbl24[slot] - kFirstGroup];
    paint(route.address, route.length, hop, route.length);
  }
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

  uint16_t hop = 0;  // of the next shorter prefix
  uint8_t owner = 0;
  for (uint32_t shorter = length; shorter-- > 0 && hop == 0;) {
    if (histogram_[shorter] == 0) continue;
    const auto cover = routes_.find(route_key(address & prefix_mask(shorter), shorter));
    if (cover == routes_.end()) continue;
    hop = cover->second;
    owner = static_cast<uint8_t>(shorter);
  }
  if (length > 24 && --group_routes_[image().tbl24[address >> 8] - kFirstGroup] == 0) {
    close_group(address >> 8, hop, owner);
  } else {
    paint(address, length, hop, owner);
  }
  release_hop(old);
  return true;
}

size_t RouteTable::load(std::vector<Route> routes) {
  std::ranges::for_each(routes, check);
  // Shorter prefixes first: what a longer one then overwrites, nothing writes again. Of equal ones the last stays.
  std::ranges::stable_sort(routes, {}, [](const Route& route) { return route_key(route); });
  size_t kept = 0;
  for (size_t i = 0; i < routes.size(); ++i) {
    if (i + 1 == routes.size() || route_key(routes[i]) != route_key(routes[i + 1])) routes[kept++] = routes[i];
  }
  const size_t superseded = routes.size() - kept;
  routes.resize(kept);

  std::unordered_set<uint64_t> hops;
  std::unordered_set<uint32_t> groups;
  for (const Route& route : routes) {
    if (!is_plain(route.hop)) hops.insert(hop_key(route.hop));
    if (route.length > 24) groups.insert(route.address >> 8);
  }
  check_room(kHopsText, hops.size(), kPooledHops, 0);
  check_room(kGroupsText, groups.size(), kGroups, 0);

  const PatchSink sink = std::exchange(sink_, nullptr);
  clear();
  routes_.reserve(routes.size());
  for (const Route& route : routes) insert(route);
  sink_ = sink;
  if (sink_) sink_(0, std::as_bytes(std::span(&image(), 1)));
  return superseded;
}

void RouteTable::clear() {
  if (!routes_.empty() || retired_count_ > 0) {
    std::memset(static_cast<void*>(memory_.get()), 0, sizeof(Memory));
    std::ranges::fill(hop_routes_, 0);
    set_plain_hops();
  }
  routes_.clear();
  hop_indices_.clear();
  histogram_.fill(0);
  gateways_ = 0;
  hops_ = {.next = kPlainHops + 1, .limit = kHops};
  groups_ = {.next = 0, .limit = kGroups};
  retired_.clear();
}

std::optional<Hop> RouteTable::lookup(uint32_t address) const {
  const uint16_t hop = dir24_lookup(image().tbl24, image().tbl8[0], address);
  if (hop == 0) return std::nullopt;
  return image().hops[hop];
}

// ---- lookups in bulk ----

// Measured over a million routes, random, Zipf and bursty addresses: the AVX2 gather beats every scalar form by 1.2 to
// 2 times (no branch to mispredict) and an AVX-512 one gains at most 1.3 times more; of the scalar forms the prefetched
// one is best. ThreadSanitizer does not see a gather, so it gets the scalar form.

#if defined(__x86_64__) && !defined(HEDDLE_THREAD_SANITIZER)
/** Eight lookups at a time; returns how many it did. A gather fetches four bytes for each two-byte entry: the upper two
 *  are dropped, and those after the last entry of a level belong to the next member of the image. No entry is torn: it
 * is aligned, so it lies within one cache line. */
[[gnu::target("avx2")]] static int lookup_eights(const RouteImage& image, const uint32_t* addresses, uint16_t* hops,
                                                 int n) {
  const auto* tbl24 = reinterpret_cast<const int*>(image.tbl24);
  const auto* tbl8 = reinterpret_cast<const int*>(image.tbl8);
  const __m256i low16 = _mm256_set1_epi32(0xffff), low8 = _mm256_set1_epi32(0xff);
  const __m256i first_group = _mm256_set1_epi32(kFirstGroup), last_hop = _mm256_set1_epi32(kFirstGroup - 1);
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256i address = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(addresses + i));
    __m256i entry = _mm256_and_si256(_mm256_i32gather_epi32(tbl24, _mm256_srli_epi32(address, 8), 2), low16);
    const __m256i in_group = _mm256_cmpgt_epi32(entry, last_hop);
    if (!_mm256_testz_si256(in_group, in_group)) {
      const __m256i group = _mm256_slli_epi32(_mm256_sub_epi32(entry, first_group), 8);
      const __m256i at = _mm256_or_si256(group, _mm256_and_si256(address, low8));
      entry = _mm256_and_si256(_mm256_mask_i32gather_epi32(entry, tbl8, at, in_group, 2), low16);
    }
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(entry, entry), 0x08);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(hops + i), _mm256_castsi256_si128(packed));
  }
  return i;
}
#endif

void lookup_bulk(const RouteImage& image, const uint32_t* addresses, uint16_t* hops, int n) {
  int done = 0;
#if defined(__x86_64__) && !defined(HEDDLE_THREAD_SANITIZER)
  if (__builtin_cpu_supports("avx2")) done = lookup_eights(image, addresses, hops, n);
#endif
  constexpr int kAhead = 32;  // cache misses in flight at once
  while (done < n) {
    const int end = std::min(n, done + kAhead);
    for (int i = done; i < end; ++i) __builtin_prefetch(&image.tbl24[addresses[i] >> 8]);
    for (; done < end; ++done) hops[done] = dir24_lookup(image.tbl24, image.tbl8[0], addresses[done]);
  }
}

void RouteTable::replace(const std::vector<Route>& routes) {
  std::unordered_map<uint64_t, Hop> wanted;
  wanted.reserve(routes.size());
  for (const Route& route : routes) wanted[route_key(route)] = route.hop;
  std::vector<Route> changed;
  for (const auto& [key, hop] : wanted) {
    const auto found = routes_.find(key);
    if (found == routes_.end() || image().hops[found->second] != hop)
      changed.push_back({static_cast<uint32_t>(key), static_cast<uint8_t>(key >> 32), hop});
  }
  std::vector<uint64_t> gone;
  for (const auto& entry : routes_)
    if (!wanted.contains(entry.first)) gone.push_back(entry.first);
  // Longer prefixes are set before the shorter ones around them, and go after them: no address sees an answer in between.
  std::ranges::sort(changed, std::greater(), &Route::length);
  std::ranges::sort(gone);  // by length
  for (const Route& route : changed) add(route);
  for (const uint64_t key : gone) remove(static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32));
}

}  // namespace heddle::ip_lookup
