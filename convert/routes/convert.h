#pragma once

#include <cstdio>
#include <string>

namespace heddle::ip_lookup {

struct ConvertOptions {
  std::string input;            ///< a path, or "-"
  std::string format = "auto";  ///< mrt, iproute, csv, or auto: what the file looks like
  uint32_t outputs = 0;         ///< number of outputs; 0: as many as there are next hops
};
struct ConvertCounts {
  uint64_t routes = 0, duplicates = 0, outputs = 0, passed_over = 0;
};

/** Writes the routes of a foreign file to `out` as a route file, in the file's order. Of several routes with one prefix
 *  the first counts. Outputs are numbered in the order in which interfaces, or for routes without one next hops, first
 *  appear; with a number of outputs, they are dealt out in turn. Routes that have an output number in the file keep it.
 *  Throws Error that begins with the input's name, also when there is no route in it. */
ConvertCounts convert_routes(const ConvertOptions& options, std::FILE* out);

}  // namespace heddle::ip_lookup
