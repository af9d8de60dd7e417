// `heddle routes`: checks a route file and answers lookups, without a chain; converts others into one.

#include <arpa/inet.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>

#include "apps/heddle/commands.h"
#include "click/values.h"
#include "core/error.h"
#include "core/output_file.h"
#include "functions/ip_lookup/direct_table.h"
#include "functions/ip_lookup/route_file.h"

namespace heddle {
namespace {

std::string dotted(uint32_t network_order) {
  char text[INET_ADDRSTRLEN];
  in_addr address{network_order};
  return inet_ntop(AF_INET, &address, text, sizeof text);
}

}  // namespace

int RoutesCommand::run() const {
  std::vector<std::string> errors;
  auto routes = ip_lookup::read_route_file(file, errors);
  for (auto& error : errors) std::fprintf(stderr, "%s\n", error.c_str());
  if (!errors.empty()) throw Error("'" + file + "' has mistakes; nothing was looked up");
  ip_lookup::DirectTable table;
  const size_t lines = routes.size();
  const size_t duplicates = table.load(std::move(routes));

  nlohmann::json answers = nlohmann::json::array();
  for (auto& text : addresses) {
    click::Ipv4Address address;
    if (!click::parse(text, address)) throw Error("'" + text + "' is not an IPv4 address such as 10.1.2.3");
    const auto hop = table.lookup(address.value);
    nlohmann::json answer{{"address", text}, {"route", hop.has_value()}};
    if (hop) {
      answer["output"] = hop->port;
      if (hop->gateway != 0) answer["gateway"] = dotted(hop->gateway);
    }
    answers.push_back(answer);
  }
  if (json) {
    nlohmann::json histogram = nlohmann::json::object();
    for (size_t length = 0; length <= 32; ++length)
      if (table.histogram()[length] != 0) histogram[std::to_string(length)] = table.histogram()[length];
    std::printf("%s\n", nlohmann::json{{"file", file},
                                       {"lines", lines},
                                       {"duplicates", duplicates},
                                       {"routes", table.size()},
                                       {"hops", table.hops_used()},
                                       {"groups", table.blocks_used()},
                                       {"by_length", histogram},
                                       {"lookups", answers}}
                            .dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
                            .c_str());
    return 0;
  }
  if (addresses.empty()) {
    std::printf("%zu routes (%zu duplicates), %u different hops, %u blocks with routes longer than /24\n", table.size(),
                duplicates, table.hops_used(), table.blocks_used());
    for (size_t length = 0; length <= 32; ++length)
      if (table.histogram()[length] != 0) std::printf("  /%-2zu %zu\n", length, table.histogram()[length]);
  }
  for (auto& answer : answers) {
    if (!answer["route"])
      std::printf("%s no route\n", answer["address"].get<std::string>().c_str());
    else
      std::printf("%s output %u%s%s\n", answer["address"].get<std::string>().c_str(), answer["output"].get<uint32_t>(),
                  answer.contains("gateway") ? " gateway " : "",
                  answer.contains("gateway") ? answer["gateway"].get<std::string>().c_str() : "");
  }
  return 0;
}

int ConvertCommand::run() const {
  // Written only when all of it is right.
  char* text = nullptr;
  size_t size = 0;
  std::FILE* memory = open_memstream(&text, &size);
  if (memory == nullptr) throw std::bad_alloc();
  const auto close = [&](std::FILE* it) { std::fclose(it), std::free(text); };
  const std::unique_ptr<std::FILE, decltype(close)> converted(memory, close);
  const auto counts = ip_lookup::convert_routes(options, memory);
  if (std::fflush(memory) != 0) throw std::bad_alloc();

  write_output(output, {text, size});
  std::fprintf(stderr,
               "%" PRIu64 " routes to %" PRIu64 " outputs; %" PRIu64 " duplicates and %" PRIu64
               " other records left out\n",
               counts.routes, counts.outputs, counts.duplicates, counts.passed_over);
  return 0;
}

}  // namespace heddle
