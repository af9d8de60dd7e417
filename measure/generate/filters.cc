#include "measure/generate/filters.h"

#include <bit>

#include "core/error.h"
#include "measure/generate/prefix.h"
#include "measure/generate/text.h"

namespace heddle::bench {
namespace {

constexpr uint32_t mask_of(int length) { return length == 0 ? 0 : ~uint32_t{0} << (32 - length); }

void read_prefix(const LineReader& reader, std::string_view word, uint32_t& address, uint8_t& length) {
  Prefix prefix;
  if (!parse_prefix(word, Family::ipv4, prefix))
    reader.fail("'" + std::string(word) + "' is not an IPv4 prefix such as 192.0.2.0/24 (bits after the length zero)");
  address = static_cast<uint32_t>(prefix.address >> 96);
  length = static_cast<uint8_t>(prefix.length);
}

PortRange read_ports(const LineReader& reader, std::string_view low, std::string_view colon, std::string_view high) {
  PortRange ports;
  if (colon != ":" || !parse_number(low, ports.low) || !parse_number(high, ports.high) || ports.low > ports.high)
    reader.fail("'" + std::string(low) + " " + std::string(colon) + " " + std::string(high) +
                "' is not a port range such as 0 : 65535");
  return ports;
}

template <class T>
void read_masked(const LineReader& reader, std::string_view word, T& value, T& mask, const char* such_as) {
  const size_t slash = word.find('/');
  if (slash == word.npos || !parse_hexadecimal(word.substr(0, slash), value) ||
      !parse_hexadecimal(word.substr(slash + 1), mask))
    reader.fail("'" + std::string(word) + "' is not a value and mask such as " + such_as);
  value &= mask;
}

}  // namespace

bool Filter::matches(const Header& header) const {
  return ((header.source ^ source) & mask_of(source_length)) == 0 &&
         ((header.destination ^ destination) & mask_of(destination_length)) == 0 &&
         source_ports.low <= header.source_port && header.source_port <= source_ports.high &&
         destination_ports.low <= header.destination_port && header.destination_port <= destination_ports.high &&
         (!protocol_exact || header.protocol == protocol) && (header.flags & flags_mask) == flags;
}

double Filter::headers() const {
  double count = static_cast<double>(source_ports.high - source_ports.low + 1) *
                 static_cast<double>(destination_ports.high - destination_ports.low + 1);
  for (int bits = 64 - source_length - destination_length + (protocol_exact ? 0 : 8) + 16 - std::popcount(flags_mask);
       bits > 0; --bits)
    count *= 2;
  return count;
}

std::string to_text(const Filter& filter) {
  const auto prefix = [](uint32_t address, uint8_t length) {
    return format("%u.%u.%u.%u/%u", address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255, length);
  };
  return format("@%s\t%s\t%u : %u\t%u : %u\t0x%02x/0x%02X\t0x%04x/0x%04x\t\n",
                prefix(filter.source, filter.source_length).c_str(),
                prefix(filter.destination, filter.destination_length).c_str(), filter.source_ports.low,
                filter.source_ports.high, filter.destination_ports.low, filter.destination_ports.high, filter.protocol,
                filter.protocol_exact ? 0xff : 0, filter.flags, filter.flags_mask);
}

std::string to_text(const std::vector<Filter>& filters) {
  std::string text;
  for (const Filter& filter : filters) text += to_text(filter);
  return text;
}

std::vector<Filter> parse_filters(const std::string& name, std::string_view text) {
  std::vector<Filter> filters;
  LineReader reader(name, text);
  for (std::string_view line; reader.next(line);) {
    auto words = words_of(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    if (!words[0].starts_with('@') || words.size() < 9)
      reader.fail("expected @SOURCE/LENGTH DESTINATION/LENGTH LOW : HIGH LOW : HIGH PROTOCOL/MASK FLAGS/MASK");
    Filter filter;
    read_prefix(reader, words[0].substr(1), filter.source, filter.source_length);
    read_prefix(reader, words[1], filter.destination, filter.destination_length);
    filter.source_ports = read_ports(reader, words[2], words[3], words[4]);
    filter.destination_ports = read_ports(reader, words[5], words[6], words[7]);
    uint8_t mask = 0;
    read_masked(reader, words[8], filter.protocol, mask, "0x06/0xFF");
    if (mask != 0 && mask != 0xff) reader.fail("the mask of a protocol is 0x00 or 0xFF");
    filter.protocol_exact = mask != 0;
    if (words.size() > 9) read_masked(reader, words[9], filter.flags, filter.flags_mask, "0x0000/0x0200");
    filters.push_back(filter);
  }
  return filters;
}

PortClass class_of(const PortRange& ports) {
  if (ports == PortRange{0, 65535}) return PortClass::wc;
  if (ports == PortRange{1024, 65535}) return PortClass::hi;
  if (ports == PortRange{0, 1023}) return PortClass::lo;
  return ports.low == ports.high ? PortClass::em : PortClass::ar;
}

using enum PortClass;
const std::array<PortPair, kPortPairs> kPortPairOrder = {
    {{wc, wc}, {wc, hi}, {hi, wc}, {hi, hi}, {wc, lo}, {lo, wc}, {hi, lo}, {lo, hi}, {lo, lo},
     {wc, ar}, {ar, wc}, {hi, ar}, {ar, hi}, {wc, em}, {em, wc}, {hi, em}, {em, hi}, {lo, ar},
     {ar, lo}, {lo, em}, {em, lo}, {ar, ar}, {ar, em}, {em, ar}, {em, em}}};

std::string name_of(const PortPair& pair) {
  static constexpr const char* kNames[] = {"wc", "hi", "lo", "ar", "em"};
  return std::string(kNames[static_cast<size_t>(pair.source)]) + "_" + kNames[static_cast<size_t>(pair.destination)];
}

size_t port_pair_of(const Filter& filter) {
  const PortClass source = class_of(filter.source_ports), destination = class_of(filter.destination_ports);
  for (size_t i = 0; i < kPortPairs; ++i)
    if (kPortPairOrder[i].source == source && kPortPairOrder[i].destination == destination) return i;
  return 0;  // there is no other
}

}  // namespace heddle::bench
