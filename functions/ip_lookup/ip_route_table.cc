#include "functions/ip_lookup/ip_route_table.h"

#include <arpa/inet.h>

#include "click/arguments.h"
#include "core/mistakes.h"
#include "functions/ip_lookup/route_file.h"

namespace heddle {

using ip_lookup::Route;

std::vector<Route> IPRouteTable::read_routes(std::vector<std::string>& errors) const {
  std::vector<Route> routes;
  if (!file_.empty()) routes = ip_lookup::read_route_file(file_, errors, static_cast<uint32_t>(outputs));
  routes.insert(routes.end(), own_routes_.begin(), own_routes_.end());
  return routes;
}

void IPRouteTable::configure(click::Arguments& arguments) {
  arguments.keyword("FILE", file_);
  names_ = arguments.names();
  for (const auto& argument : arguments.rest()) {
    Route route{};
    const std::string problem = ip_lookup::parse_route(argument.text, route, names_);
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
  if (errors.empty()) table_->load(std::move(routes));
  count_ = table_->size();
}

Access IPRouteTable::access(Processor) const {
  // dst is replaced by the gateway for some packets only, and a gateway may come with an update.
  return {.column_reads = columns(Column::dst), .column_writes = columns(Column::dst)};
}

std::span<const char* const> IPRouteTable::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_route"};
  return kReasons;
}

void IPRouteTable::take_state(Element& old_element) {
  auto& old = static_cast<IPRouteTable&>(old_element);
  const IPRouteTable& heir = predecessor == &old ? *this : old;
  if (!heir.same_arguments || outputs != old.outputs) return;
  for (IPRouteTable* one : {this, &old}) std::erase(one->retiring, one->table_.get());
  std::swap(table_, old.table_);
  for (IPRouteTable* one : {this, &old}) {
    one->table = one->table_.get();
    one->retiring.push_back(one->table_.get());
    one->table_->reclaim();
    one->changed();
  }
}

void IPRouteTable::reload() {
  std::vector<std::string> errors;
  const std::vector<Route> routes = read_routes(errors);
  throw_mistakes(errors, "the routes stay as they are");
  table_->replace(routes);
  changed();
}

std::string IPRouteTable::choice() const {
  if (placed_on_gpu_ || *table_->form() == 0) return {};
  table_->choose_form_again(early_);
  const char* instead = early_ && !table_->looks_up_early() ? "not prefetched early, " : "";
  return format("look-ups: %s, %sthe fastest here with %zu routes", table_->form(), instead, table_->size());
}

void IPRouteTable::start(const Environment&) {
  if (on_cpu) table_->choose_form(early_);
}

void IPRouteTable::changed() {
  count_ = table_->size();
  if (on_cpu) table_->choose_form_again(early_);
}

bool IPRouteTable::has_route(uint32_t address) const {
  uint16_t hop = 0;
  table_->lookup_bulk(&address, &hop, 1);
  return hop != 0;
}

void IPRouteTable::run_cpu(Batch& batch) {
  constexpr int kGroup = 64;
  uint32_t* dst = batch.column(Column::dst);
  uint32_t addresses[kGroup];
  uint16_t hops[kGroup];
  uint16_t* next = batch.next();
  for (int base = 0; base < batch.size(); base += kGroup) {
    const int n = batch.size() - base < kGroup ? batch.size() - base : kGroup;
    for (int i = 0; i < n; ++i) addresses[i] = ntohl(dst[base + i]);
    table_->lookup_bulk(addresses, hops, n);
    for (int i = 0; i < n; ++i) {
      if (hops[i] == 0) {
        batch.drop(base + i, 0);
        continue;
      }
      if (hops[i] <= ip_lookup::kPlainHops) {
        next[base + i] = static_cast<uint16_t>(hops[i] - 1);
        continue;
      }
      const ip_lookup::Hop hop = table_->hops()[hops[i]];
      next[base + i] = static_cast<uint16_t>(hop.port);
      if (hop.gateway != 0) dst[base + i] = hop.gateway;
    }
  }
}

}  // namespace heddle
