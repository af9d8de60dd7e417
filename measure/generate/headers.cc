#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "measure/generate/filter_set.h"
#include "measure/generate/random.h"
#include "measure/generate/text.h"

namespace heddle::bench {
namespace {

constexpr uint32_t below_prefix(int length) { return length == 32 ? 0 : ~uint32_t{0} >> length; }

Header corner(const Filter& filter, Random& random) {
  const auto high = [&] { return random.below(2) == 1; };
  Header header{};
  header.source = filter.source | (high() ? below_prefix(filter.source_length) : 0);
  header.destination = filter.destination | (high() ? below_prefix(filter.destination_length) : 0);
  header.source_port = high() ? filter.source_ports.high : filter.source_ports.low;
  header.destination_port = high() ? filter.destination_ports.high : filter.destination_ports.low;
  const bool highest = high();
  header.protocol = filter.protocol_exact ? filter.protocol : highest ? 255 : 0;
  header.flags = static_cast<uint16_t>(filter.flags | (high() ? ~filter.flags_mask & 0xffff : 0));
  return header;
}

}  // namespace

std::vector<TraceHeader> generate_headers(const std::vector<Filter>& filters, size_t count, double a, double b,
                                          uint64_t seed) {
  if (filters.empty()) throw Error("a header trace needs at least one filter");
  if (!(a >= 0.01 && a <= 100) || !(b >= 0 && b <= 1e6))
    throw Error(
        format("Pareto distribution: %g %g is not a shape from 0.01 to 100 and a scale from 0 to 1000000", a, b));
  Random random(seed);
  std::vector<TraceHeader> trace;
  trace.reserve(count);
  while (trace.size() < count) {
    const size_t filter = random.below(filters.size());
    const TraceHeader header{corner(filters[filter], random), filter};
    const double left = static_cast<double>(count - trace.size());
    const double copies = b == 0 ? 1 : std::min(left, std::ceil(b / power(1 - random.unit(), 1 / a)));
    trace.insert(trace.end(), static_cast<size_t>(std::max(1.0, copies)), header);
  }
  return trace;
}

std::string to_text(const std::vector<TraceHeader>& trace) {
  std::string text;
  for (const auto& [header, filter] : trace)
    text += format("%u\t%u\t%u\t%u\t%u\t%u\t%zu\n", header.source, header.destination, header.source_port,
                   header.destination_port, header.protocol, header.flags, filter);
  return text;
}

std::vector<TraceHeader> parse_headers(const std::string& name, std::string_view text) {
  std::vector<TraceHeader> trace;
  LineReader reader(name, text);
  for (std::string_view line; reader.next(line);) {
    const auto words = words_of(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    TraceHeader one{};
    uint32_t flags = 0;  // trace_generator's have 32 bits
    if (words.size() < 6 || !parse_number(words[0], one.header.source) ||
        !parse_number(words[1], one.header.destination) || !parse_number(words[2], one.header.source_port) ||
        !parse_number(words[3], one.header.destination_port) || !parse_number(words[4], one.header.protocol) ||
        !parse_number(words[5], flags))
      reader.fail("expected SOURCE DESTINATION SOURCE_PORT DESTINATION_PORT PROTOCOL FLAGS [FILTER] in decimal");
    one.header.flags = static_cast<uint16_t>(flags);
    if (words.size() > 6 && words[6] != "-1" && !parse_number(words[6], one.filter))
      reader.fail("'" + std::string(words[6]) + "' is not the number of a filter");
    trace.push_back(one);
  }
  return trace;
}

}  // namespace heddle::bench
