#include "convert/routes/convert.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "convert/routes/mrt.h"
#include "convert/routes/route_text.h"
#include "core/error.h"

namespace heddle::ip_lookup {
namespace {

/** A stream whose first bytes have been looked at. */
class Peeked : public ByteStream {
 public:
  explicit Peeked(ByteStream& rest) : rest_(rest) { size_ = rest_.read(first_); }
  std::span<const uint8_t> first() const { return {first_.data(), size_}; }
  size_t read(std::span<uint8_t> out) override {
    const size_t size = std::min(out.size(), size_ - at_);
    std::copy_n(first_.begin() + static_cast<ptrdiff_t>(at_), size, out.begin());
    at_ += size;
    return size + rest_.read(out.subspan(size));
  }

 private:
  ByteStream& rest_;
  std::array<uint8_t, 4096> first_;
  size_t size_ = 0, at_ = 0;
};

std::string format_of(std::span<const uint8_t> first) {
  if (std::ranges::find(first, 0) != first.end()) return "mrt";
  auto line = first.begin();
  while (line != first.end() && *line == '#') {  // a comment
    line = std::find(line, first.end(), '\n');
    if (line != first.end()) ++line;
  }
  const auto line_end = std::find(line, first.end(), '\n');
  return std::find(line, line_end, ',') != line_end ? "csv" : "iproute";
}

/** Numbers next hops as they appear. */
class Outputs {
 public:
  explicit Outputs(uint32_t limit) : limit_(limit) {}
  uint32_t of(const LearnedRoute& route) {
    if (route.output) return *route.output;
    const std::string key = route.interface.empty() ? std::to_string(route.gateway) : "dev " + route.interface;
    const auto next = static_cast<uint32_t>(numbers_.size());
    return numbers_.try_emplace(key, limit_ == 0 ? next : next % limit_).first->second;
  }

 private:
  uint32_t limit_;
  std::unordered_map<std::string, uint32_t> numbers_;
};

void write_route(const LearnedRoute& route, uint32_t output, std::FILE* out) {
  const auto bytes = [](uint32_t address) {
    return std::array<unsigned, 4>{address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255};
  };
  const auto prefix = bytes(route.address), gateway = bytes(route.gateway);
  std::fprintf(out, "%u.%u.%u.%u/%u ", prefix[0], prefix[1], prefix[2], prefix[3], route.length);
  if (route.gateway != 0) std::fprintf(out, "%u.%u.%u.%u ", gateway[0], gateway[1], gateway[2], gateway[3]);
  std::fprintf(out, "%u\n", output);
}

}  // namespace

ConvertCounts convert_routes(const ConvertOptions& options, std::FILE* out) {
  ConvertCounts counts;
  Outputs outputs(options.outputs);
  std::unordered_set<uint64_t> prefixes;
  std::unordered_set<uint32_t> used;
  const RouteSink sink = [&](const LearnedRoute& route) {
    if (!prefixes.insert(uint64_t{route.address} << 8 | route.length).second) {
      ++counts.duplicates;
      return;
    }
    const uint32_t output = outputs.of(route);
    used.insert(output);
    write_route(route, output, out);
    ++counts.routes;
  };
  const auto file = open_stream(options.input);
  std::string guess;
  try {
    Peeked stream(*file);
    const std::string format = options.format == "auto" ? format_of(stream.first()) : options.format;
    if (format == "mrt") {
      if (options.format != format) guess = "read as an MRT dump (--format says otherwise): ";
      const MrtCounts mrt = read_mrt(stream, sink);
      counts.passed_over = mrt.other_records + mrt.without_next_hop;
    } else if (format == "iproute") {
      counts.passed_over = read_ip_route(stream, sink);
    } else {
      read_csv(stream, sink);
    }
    if (counts.routes == 0)
      throw Error(std::string("it has no IPv4 routes") +
                  (format == "mrt" ? "; give a dump of a RIB (bview.*, rib.*), not of updates" : ""));
  } catch (const Error& error) {
    throw Error(options.input + ": " + guess + error.what());
  }
  counts.outputs = used.size();
  return counts;
}

}  // namespace heddle::ip_lookup
