#include <map>
#include <random>
#include <sstream>

#include "click/arguments.h"
#include "core/error.h"
#include "core/text_file.h"
#include "functions/ndn/name.h"
#include "functions/ndn/ndn_lookup.h"

namespace heddle {

using namespace ndn;

std::string NDNLookup::parse(const std::string& text, Route& route) const {
  std::istringstream words(text);
  std::string name, output, more;
  words >> name >> output;
  if (output.empty() || words >> more) return "expected NAME OUTPUT";
  if (std::string problem = parse_name(name, route.wire, route.components); !problem.empty()) return problem;
  const auto last = static_cast<uint16_t>(outputs - 1);
  if (!click::parse(output, route.output, uint16_t{0}, last))
    return "'" + output.substr(0, 80) + "' is not a connected output, 0 to " + std::to_string(last);
  return "";
}

std::vector<NDNLookup::Route> NDNLookup::read_file(const std::string& path, std::vector<std::string>& errors) const {
  std::vector<Route> routes;
  read_lines(path, read_text_file(path, "file of names"), "#", errors, [&](std::string_view line) {
    Route route;
    const std::string problem = parse(std::string(line), route);
    if (problem.empty()) routes.push_back(std::move(route));
    return problem.empty() ? "" : "not a route: " + problem;
  });
  return routes;
}

void NDNLookup::configure(click::Arguments& arguments) {
  std::string file;
  size_t capacity = 0;
  int data = -1;
  arguments.keyword("FILE", file).keyword("CAPACITY", capacity, size_t{1}, size_t{100'000'000});
  arguments.keyword("OFFSET", offset_, 0u, 16384u).keyword("DATA", data, 0, outputs - 1);
  if (data >= 0) data_ = static_cast<uint16_t>(data);
  std::vector<std::string> errors;
  std::vector<Route> routes;
  if (!file.empty()) routes = read_file(file, errors);
  for (auto& error : errors) arguments.error(error);
  for (const auto& argument : arguments.rest()) {
    Route route;
    if (const std::string problem = parse(argument.text, route); !problem.empty())
      arguments.error(argument, "a route: " + problem);
    else
      routes.push_back(std::move(route));
  }
  std::random_device random;
  names_.reset(capacity != 0 ? capacity : std::max<size_t>(65536, routes.size()), uint64_t{random()} << 32 | random(),
               offset_, data_);
  try {
    for (const Route& route : routes) names_.set(route.wire, route.components, route.output);
  } catch (const Error& error) {
    arguments.error(error.what());
  }
  count_ = names_.size();
}

Access NDNLookup::access(Processor) const { return {.reads = {{Base::head, static_cast<int>(offset_), kToEnd}}}; }

std::span<const char* const> NDNLookup::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_route", "data", "malformed", "fragment"};
  return kReasons;
}

void NDNLookup::start(const Environment&) {
  has_started_ = true;
  if (on_cpu) names_.hashes().choose_form();
}

std::string NDNLookup::choice() const {
  if (placed_on_gpu_) return {};
  if (!has_started_) names_.hashes().choose_form();
  return format("look-ups: %s, the fastest here in a full table", names_.hashes().form().name);
}

void NDNLookup::run_cpu(Batch& batch) {
  Group group;
  const uint8_t* packets[Group::kGroup];
  uint32_t lengths[Group::kGroup];
  uint16_t* next = batch.next();
  for (int base = 0; base < batch.size(); base += Group::kGroup) {
    const int n = std::min(Group::kGroup, batch.size() - base);
    for (int i = 0; i < n; ++i) packets[i] = batch.frame(base + i), lengths[i] = batch.length(base + i);
    group.look_up(names_, packets, lengths, next + base, n);
  }
}

void NDNLookup::set(const std::string& text, bool replaces) {
  Route route;
  if (const std::string problem = parse(text, route); !problem.empty()) throw Error("not a route: " + problem);
  if (const auto old = names_.find(route.wire); old && !replaces)
    throw Error("conflict with existing route '" + name_text(route.wire) + " " + std::to_string(*old) + "'");
  names_.set(route.wire, route.components, route.output);
  count_ = names_.size();
}

std::string NDNLookup::lookup_text(const std::string& text) const {
  std::string wire;
  int components = 0;
  if (const std::string problem = parse_name(text, wire, components); !problem.empty()) throw Error(problem);
  std::string found = "-1";
  const HostBytes bytes{reinterpret_cast<const uint8_t*>(wire.data())};
  visit_prefixes(bytes, 0, static_cast<uint32_t>(wire.size()), names_.hashes().image().seed, names_.lengths(),
                 [&](int, uint64_t key, uint32_t hash) {
                   if (const uint64_t word = names_.hashes().find(hash, key); word != 0)
                     found = std::to_string((word >> cuckoo::kValueShift) - 1);
                 });
  return found;
}

std::string NDNLookup::table_text() const {
  std::map<std::string, uint16_t> sorted;
  for (const auto& [wire, entry] : names_.names()) sorted[name_text(wire)] = entry.output;
  std::string text;
  for (const auto& [name, output] : sorted) text += name + " " + std::to_string(output) + "\n";
  return text;
}

void NDNLookup::handlers(Handlers& list) {
  list.write("add", [this](const std::string& text) { set(text, false); })
      .write("set", [this](const std::string& text) { set(text, true); })
      .write("remove",
             [this](const std::string& text) {
               std::string wire;
               int components = 0;
               if (const std::string problem = parse_name(text, wire, components); !problem.empty())
                 throw Error(problem);
               if (!names_.remove(wire)) throw Error("route '" + text.substr(0, 80) + "' not found");
               count_ = names_.size();
             })
      .write("flush", [this](const std::string&) { names_.clear(), count_ = 0; })
      .read("form", [this] { return std::string(names_.hashes().form().name); })
      .read("table", [this] { return table_text(); })
      .read_with_argument("lookup", [this](const std::string& name) { return lookup_text(name); });
}

HEDDLE_ELEMENT(NDNLookup);

}  // namespace heddle
