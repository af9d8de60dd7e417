#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::bench {

/** Ports low to high, both included. */
struct PortRange {
  uint16_t low = 0, high = 0xffff;
  auto operator<=>(const PortRange&) const = default;
};

/** A header as far as filters look at it; host byte order. */
struct Header {
  uint32_t source, destination;
  uint16_t source_port, destination_port;
  uint8_t protocol;
  uint16_t flags;
};

/** A filter of ClassBench (Taylor, Turner: "ClassBench: A Packet Classification Benchmark", ToN 15(3), 2007): a header
 *  matches if every field does. Addresses in host byte order, bits after the length zero. */
struct Filter {
  uint32_t source = 0, destination = 0;
  uint8_t source_length = 0, destination_length = 0;
  PortRange source_ports, destination_ports;
  uint8_t protocol = 0;  ///< matters if protocol_exact
  bool protocol_exact = false;
  uint16_t flags = 0, flags_mask = 0;

  auto operator<=>(const Filter&) const = default;
  bool matches(const Header& header) const;
  /** Number of headers that match, over all fields; a filter within another has fewer. */
  double headers() const;
};

/** "@192.0.2.0/24 198.51.100.1/32 0 : 65535 80 : 80 0x06/0xFF 0x0000/0x0200 " with tabs and a line end, as
 *  ClassBench's db_generator writes it. */
std::string to_text(const Filter& filter);
std::string to_text(const std::vector<Filter>& filters);
/** A filter set in this form; the flags may be missing. `#` starts a comment. Throws Error with name, line and what is
 *  wrong. */
std::vector<Filter> parse_filters(const std::string& name, std::string_view text);

/** ClassBench's classes of a port range: wildcard, 1024 to 65535, 0 to 1023, other range, exact. */
enum class PortClass { wc, hi, lo, ar, em };
PortClass class_of(const PortRange& ports);

/** The pairs of classes of source and destination port, in the order of the parameter files. */
struct PortPair {
  PortClass source, destination;
};
inline constexpr size_t kPortPairs = 25;
extern const std::array<PortPair, kPortPairs> kPortPairOrder;
/** "wc_em" */
std::string name_of(const PortPair& pair);
size_t port_pair_of(const Filter& filter);

}  // namespace heddle::bench
