#include <cstring>

#include "click/arguments.h"
#include "core/mistakes.h"
#include "functions/ip6_lookup/ip6_lookup.h"
#include "functions/ip6_lookup/route_file.h"

namespace heddle {

using ip6_lookup::GatewayHop;
using ip6_lookup::Route;

LookupIP6Route::LookupIP6Route() {
  table = &routes_;
  retiring.push_back(&routes_);
}

std::vector<Route> LookupIP6Route::read_routes(std::vector<std::string>& errors) const {
  std::vector<Route> routes;
  if (!file_.empty()) routes = ip6_lookup::read_route_file(file_, errors, static_cast<uint32_t>(outputs));
  routes.insert(routes.end(), own_routes_.begin(), own_routes_.end());
  return routes;
}

void LookupIP6Route::configure(click::Arguments& arguments) {
  size_t most_megabytes = 4096;
  ip6_lookup::EngineKind engine = ip6_lookup::EngineKind::tree;
  arguments.keyword("FILE", file_)
      .choice("ENGINE", engine, {{"tree", ip6_lookup::EngineKind::tree}, {"trie", ip6_lookup::EngineKind::trie}})
      .keyword("MEMORY", most_megabytes, size_t{1}, size_t{1} << 20);
  for (const auto& argument : arguments.rest()) {
    Route route;
    const std::string problem = ip6_lookup::parse_route(argument.text, route);
    if (!problem.empty())
      arguments.error(argument, "a route: " + problem);
    else if (route.hop.port >= static_cast<uint32_t>(outputs))
      arguments.error(argument, outputs > 0 ? format("a route to a connected output, 0 to %d", outputs - 1)
                                            : "a route to a connected output, of which there is none");
    else
      own_routes_.push_back(route);
  }
  std::vector<std::string> errors;
  std::vector<Route> routes = read_routes(errors);
  for (auto& error : errors) arguments.error(error);
  if (!errors.empty()) return;
  try {
    routes_.use(engine, most_megabytes << 20);
    load(std::move(routes));
  } catch (const Error& error) {
    arguments.error(error.what());
  }
}

void LookupIP6Route::load(std::vector<Route> routes) {
  routes_.load(std::move(routes));
  changed();
}

void LookupIP6Route::changed() {
  count_ = routes_.routes().size();
  if (started_ && on_cpu) routes_.choose_form_again(early_);
}

std::string LookupIP6Route::choice() const {
  const double megabytes = static_cast<double>(routes_.bytes().size()) / (1 << 20);
  const std::string image = routes_.engine() == ip6_lookup::EngineKind::trie
                                ? format("a trie of %.1f MB (ENGINE says so)", megabytes)
                                : format("a tree of %.1f MB (the default)", megabytes);
  if (placed_on_gpu_) return image;
  if (!started_) routes_.choose_form_again(early_);
  const char* instead = early_ && !routes_.looks_up_early() ? "not prefetched early, " : "";
  return format("look-ups: %s, %sthe fastest here with %zu routes; %s", routes_.form(), instead,
                routes_.routes().size(), image.c_str());
}

void LookupIP6Route::start(const Environment&) {
  started_ = true;
  if (on_cpu) routes_.choose_form(early_);
}

void LookupIP6Route::take_state(Element& old_element) {
  auto& old = static_cast<LookupIP6Route&>(old_element);
  if (!file_.empty() || !(predecessor == &old ? *this : old).same_arguments || outputs != old.outputs) return;
  routes_.swap_routes(old.routes_);
  changed(), old.changed();  // one may be asked early, and the other not
}

void LookupIP6Route::reload() {
  std::vector<std::string> errors;
  std::vector<Route> routes = read_routes(errors);
  throw_mistakes(errors, "the routes stay as they are");
  load(std::move(routes));
}

Access LookupIP6Route::access(Processor) const {
  return {.reads = {{Base::l3, kDestination, kHeaderBytes}},
          .column_reads = columns(Column::l3),
          .column_writes = columns(Column::dst)};
}

std::span<const char* const> LookupIP6Route::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_route", "no_header"};
  return kReasons;
}

/** The destination in a packet's header, null if that is not whole. */
const uint8_t* LookupIP6Route::destination(Batch& batch, int i, uint32_t l3) {
  const Packet* packet = batch.packet(i);
  const uint32_t at = l3 - packet->data_off, bytes = length(packet);  // huge if before the packet
  return at < bytes && bytes - at >= kHeaderBytes ? batch.frame(i) + at + kDestination : nullptr;
}

void LookupIP6Route::prefetch(Batch& batch) const {
  if (!routes_.looks_up_early()) return;
  const ip6_lookup::Image& image = routes_.image();
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i)
    if (const uint8_t* address = destination(batch, i, l3[i])) trie_prefetch(image, address);
}

void LookupIP6Route::run_cpu(Batch& batch) {
  constexpr int kGroup = 64;
  constexpr uint8_t kNowhere[16] = {};
  const ip6_lookup::Image& image = routes_.image();
  const uint32_t* l3 = batch.column(Column::l3);
  uint32_t* dst = batch.column(Column::dst);  // null if nobody reads it
  uint16_t* next = batch.next();
  uint8_t addresses[kGroup][16];
  uint16_t hops[kGroup];
  for (int base = 0; base < batch.size(); base += kGroup) {
    const int n = std::min(kGroup, batch.size() - base);
    uint64_t without_header = 0;
    for (int i = 0; i < n; ++i) {
      const uint8_t* address = destination(batch, base + i, l3[base + i]);
      std::memcpy(addresses[i], address != nullptr ? address : kNowhere, 16);
      if (address == nullptr) without_header |= uint64_t{1} << i;
    }
    routes_.lookup_bulk(image, addresses, hops, n);
    for (int i = 0; i < n; ++i) {
      const GatewayHop hop = hops[i] != 0 ? hop_of(image, hops[i]) : GatewayHop{0, kDrop | kNoRoute};
      next[base + i] = static_cast<uint16_t>(hop.port);
      if (dst != nullptr) dst[base + i] = hop.gateway;
    }
    for (; without_header != 0; without_header &= without_header - 1)
      batch.drop(base + std::countr_zero(without_header), kNoHeader);
  }
}

HEDDLE_ELEMENT(LookupIP6Route);

}  // namespace heddle
