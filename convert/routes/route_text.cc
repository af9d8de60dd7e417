#include "convert/routes/route_text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>
#include <utility>
#include <vector>

#include "click/values.h"
#include "core/error.h"

namespace heddle::ip_lookup {
namespace {

constexpr size_t kMaxLine = 65536;

[[noreturn]] void fail(const Lines& lines, const std::string& what) {
  throw Error(format("line %llu: ", static_cast<unsigned long long>(lines.number())) + what);
}

void read_prefix(const Lines& lines, const std::string& text, LearnedRoute& route) {
  click::Ipv4Prefix prefix;
  click::Ipv4Address address;
  if (text == "default") {
    prefix = {};
  } else if (click::parse(text, address)) {
    prefix = {address.value, 32};
  } else if (!click::parse(text, prefix)) {
    fail(lines, "'" + text.substr(0, 80) + "' is not " + click::expectation(prefix));
  }
  route.address = prefix.address;
  route.length = static_cast<uint8_t>(prefix.length);
}

uint32_t read_gateway(const Lines& lines, const std::string& text) {
  click::Ipv4Address address;
  if (!click::parse(text, address)) fail(lines, "'" + text.substr(0, 80) + "' is not " + click::expectation(address));
  return address.value;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\"");
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(" \t\"") + 1 - begin);
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream rest(line);
  for (std::string cell; std::getline(rest, cell, ',');) cells.push_back(trimmed(cell));
  return cells;
}

enum Field { kPrefix, kGateway, kOutput, kInterface, kFields };
using Columns = std::array<int, kFields>;  // which cell holds a field, -1: none

/** The columns that a header names; those without header if it is none. */
bool read_header(const std::vector<std::string>& cells, Columns& columns) {
  static constexpr std::pair<const char*, Field> kNames[] = {
      {"prefix", kPrefix},    {"network", kPrefix},      {"destination", kPrefix}, {"gateway", kGateway},
      {"next_hop", kGateway}, {"nexthop", kGateway},     {"via", kGateway},        {"output", kOutput},
      {"port", kOutput},      {"interface", kInterface}, {"dev", kInterface},      {"device", kInterface}};
  Columns named = {-1, -1, -1, -1};
  std::string mask;
  for (size_t i = 0; i < cells.size(); ++i) {
    std::string cell = cells[i];
    for (char& c : cell) c = c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const auto& [name, field] : kNames)
      if (cell == name && named[field] < 0) named[field] = static_cast<int>(i);
    if (cell == "netmask" || cell == "genmask" || cell == "mask") mask = cells[i];
  }
  if (named[kPrefix] < 0) return false;
  if (!mask.empty())
    throw Error("the column '" + mask + "' is not read: write masks behind the addresses, as 10.0.0.0/255.0.0.0");
  columns = named;
  return true;
}

}  // namespace

bool Lines::next(std::string& line) {
  size_t end;
  while ((end = buffer_.find('\n', at_)) == std::string::npos) {
    buffer_.erase(0, at_);
    at_ = 0;
    const size_t had = buffer_.size();
    if (had > kMaxLine) throw Error(format("line %llu: longer than 65536 bytes", 1ull + number_));
    buffer_.resize(had + kMaxLine);
    buffer_.resize(had + stream_.read({reinterpret_cast<uint8_t*>(buffer_.data()) + had, kMaxLine}));
    if (buffer_.size() > had) continue;
    if (had == 0) return false;
    buffer_ += '\n';
  }
  line.assign(buffer_, at_, end - at_);
  at_ = end + 1;
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  ++number_;
  return true;
}

uint64_t read_ip_route(ByteStream& stream, const RouteSink& sink) {
  static constexpr const char* kElsewhere[] = {"blackhole", "unreachable", "prohibit",  "throw",
                                               "local",     "broadcast",   "multicast", "anycast"};
  Lines lines(stream);
  uint64_t passed_over = 0;
  LearnedRoute route;
  bool open = false;  // a multipath route, whose next hops follow
  uint64_t opened_at = 0;
  const auto expect_next_hop = [&] {
    if (open)
      throw Error(
          format("line %ju: this route has neither via nor dev, and no nexthop lines behind it", uintmax_t{opened_at}));
  };
  for (std::string line; lines.next(line);) {
    std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    if (words[0] == "nexthop") {
      if (!open) continue;
    } else {
      expect_next_hop();
      if (words[0] == "unicast") words.erase(words.begin());
      if (words.empty() || std::ranges::find(kElsewhere, words[0]) != std::end(kElsewhere) ||
          words[0].find(':') != std::string::npos) {
        ++passed_over;
        open = false;
        continue;
      }
      route = {};
      read_prefix(lines, words[0], route);
    }
    bool other = false;  // of another table than main, for one type of service, or of IPv6
    for (size_t i = 1; i + 1 < words.size(); ++i) {
      if ((words[i] == "table" && words[i + 1] != "main") || words[i] == "tos" || words[i] == "pref")
        other = true;
      else if (words[i] == "via" && words[i + 1] == "inet6")
        ++i;  // an IPv6 gateway: only the interface counts
      else if (words[i] == "via")
        route.gateway = read_gateway(lines, words[i + 1]);
      else if (words[i] == "dev")
        route.interface = words[i + 1];
    }
    open = !other && route.gateway == 0 && route.interface.empty();
    opened_at = lines.number();
    if (other)
      ++passed_over;
    else if (!open)
      sink(route);
  }
  expect_next_hop();
  return passed_over;
}

void read_csv(ByteStream& stream, const RouteSink& sink) {
  Lines lines(stream);
  Columns columns = {0, 1, 2, -1};
  bool first = true;
  for (std::string line; lines.next(line);) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.empty() || (!line.empty() && line[0] == '#')) continue;
    if (std::exchange(first, false) && read_header(cells, columns)) continue;
    const auto cell = [&](Field field) {
      const int index = columns[field];
      return index >= 0 && static_cast<size_t>(index) < cells.size() ? cells[static_cast<size_t>(index)] : "";
    };
    LearnedRoute route;
    read_prefix(lines, cell(kPrefix), route);
    if (const std::string gateway = cell(kGateway); gateway != "" && gateway != "-")
      route.gateway = read_gateway(lines, gateway);
    if (const std::string output = cell(kOutput); output != "") {
      uint32_t number = 0;
      if (!click::parse(output, number)) fail(lines, "output '" + output.substr(0, 80) + "' is not a number");
      route.output = number;
    }
    route.interface = cell(kInterface);
    sink(route);
  }
}

}  // namespace heddle::ip_lookup
