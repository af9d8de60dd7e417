// route-load: a million routes from a text file into the table that DirectIPLookup uses: the time, and the memory at
// the peak beyond the table itself (its image, as far as it is used). Each round is a process of its own that has given
// back what memory it had to spare.

#include <arpa/inet.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "bench/bench.h"
#include "bench/route_tables.h"
#include "core/error.h"
#include "functions/ip_lookup/direct_table.h"
#include "functions/ip_lookup/route_file.h"

namespace heddle::bench {
namespace {

using namespace ip_lookup;

constexpr int kRoutes = 1000000, kRounds = 5;

/** A route file of a million lines that lives as long as the object: every route has one of 64 gateways. */
struct RouteFile {
  RouteFile() {
    close(mkstemp(path.data()));
    std::ofstream file(path);
    for (const Route& route : bgp_like_routes(kRoutes, 64, 1))
      file << format("%u.%u.%u.%u/%u 192.0.2.%u %u\n", route.address >> 24, route.address >> 16 & 255,
                     route.address >> 8 & 255, route.address & 255, route.length, route.hop.port + 1, route.hop.port);
    if (!file.flush()) throw Error("cannot write " + path);
  }
  ~RouteFile() { std::remove(path.c_str()); }
  std::string path = (std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/tmp") + std::string("/heddle_routes_XXXXXX");
};

double status_mb(const char* field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field)) return std::atof(line.c_str() + std::string(field).size() + 1) * 1024e-6;
  throw Error("/proc/self/status has no " + std::string(field));
}

/** Of the pages of `bytes`, those in memory. */
double resident_mb(std::span<const std::byte> bytes) {
  std::vector<unsigned char> pages((bytes.size() + 4095) / 4096);
  if (mincore(const_cast<std::byte*>(bytes.data()), bytes.size(), pages.data()) != 0) throw Error("mincore failed");
  double megabytes = 0;
  for (const unsigned char page : pages) megabytes += (page & 1) * 4096e-6;
  return megabytes;
}

struct Load {
  double seconds, megabytes;
};

Load load(const std::string& path) {
  int ends[2];
  if (pipe(ends) != 0) throw Error("pipe failed");
  const pid_t child = fork();
  if (child == 0) {
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins here
    const double before = status_mb("VmRSS"), start = seconds_now();
    DirectTable table;
    std::vector<std::string> errors;
    table.load(read_route_file(path, errors));
    Load result{seconds_now() - start, status_mb("VmHWM") - before - resident_mb(table.bytes())};
    if (!errors.empty() || table.size() != kRoutes) result.seconds = -1;
    _exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
  }
  Load result{-1, 0};
  const bool got = read(ends[0], &result, sizeof result) == sizeof result;
  close(ends[0]), close(ends[1]);
  waitpid(child, nullptr, 0);
  if (!got || result.seconds < 0) throw Error("the routes could not be loaded");
  return result;
}

const Register route_load("route-load", false, [] {
  const RouteFile file;
  std::vector<Result> results;
  results.push_back(absolute("route-load", "s", 2, true, kRounds, [&] { return load(file.path).seconds; }));
  results.push_back(absolute("route-load-memory", "MB", 200, true, kRounds, [&] { return load(file.path).megabytes; }));
  for (Result& result : results) result.note = "1,000,000 routes from text; baseline is the bound";
  return results;
});

}  // namespace
}  // namespace heddle::bench
