#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/packet.h"

/** IP summary dumps: text files with a line a packet, as Click and ipsumdump write and read them. */
namespace heddle::summary {

// IPv4 and its protocols (RFC 791), numbers in network byte order.
constexpr uint8_t kIcmp = 1, kTcp = 6, kUdp = 17;
constexpr uint32_t kDontFragment = 0x4000, kMoreFragments = 0x2000, kOffsetMask = 0x1fff;

inline uint32_t get(const uint8_t* at, uint32_t bytes) {
  uint32_t value = 0;
  for (uint32_t i = 0; i < bytes; ++i) value = value << 8 | at[i];
  return value;
}
inline void put(uint8_t* at, uint32_t bytes, uint32_t value) {
  for (uint32_t i = bytes; i-- > 0; value >>= 8) at[i] = static_cast<uint8_t>(value);
}
inline uint32_t header_bytes(const uint8_t* ip) { return (ip[0] & 15u) * 4; }

/** A packet as the fields see it. Headers that are not there, or not whole, are null. */
struct View {
  CaptureInfo info{};
  const uint8_t* frame = nullptr;
  uint32_t frame_bytes = 0;
  const uint8_t* ethernet = nullptr;   ///< a header that ends where the network header begins
  const uint8_t* ip = nullptr;         ///< a valid IPv4 header
  uint32_t ip_bytes = 0;               ///< from `ip` on, captured and within the IP packet
  const uint8_t* transport = nullptr;  ///< in the first fragment
  uint32_t transport_bytes = 0;        ///< captured
  uint32_t paint = 0, aggregate = 0;
  const char* problem = nullptr;  ///< what is wrong with the packet, for !bad lines
};
/** `ip` is the offset of the network header from the frame's start, or negative. Reads nothing outside the frame. */
View view(const Packet* packet, int ip);

/** What the fields of a line say of a packet; build() makes it. */
struct Draft {
  uint64_t timestamp_ns = 0;
  std::array<uint8_t, 20> ip{}, transport{};  ///< without options
  uint32_t ip_header_bytes = 20, tcp_header_bytes = 20;
  uint32_t ip_length = 0, payload_length = 0, wire_length = 0, captured_length = 0;
  bool has_ip_length = false, has_payload_length = false;
  std::string payload;
  std::string ip_options{}, tcp_options{};  ///< bytes, for which the headers' lengths have room
  uint32_t count = 1, paint = 0, aggregate = 0;

  explicit Draft(uint8_t protocol);
  uint8_t protocol() const { return ip[9]; }
  /** Bytes of transport header that a packet of this protocol has. */
  uint32_t transport_header_bytes() const;
  /** The whole packet's bytes, written to `to`, which has room for kMaxPacketBytes; their number. */
  uint32_t build(uint8_t* to, bool checksums) const;
};

enum class Layer : uint8_t { none, ip, ports, tcp, udp, icmp };

/** A column of a dump. Most are a number in a header: `bytes` at `offset` of the layer's header, of which `mask`
 *  counts; others have print() and read() of their own. */
struct Field {
  const char* name;
  Layer layer;
  uint8_t offset, bytes;
  uint32_t mask;
  /** Appends the text, false: the packet has no such field ("-"). Null: the number. */
  bool (*print)(const View&, const Field&, std::string& text) = nullptr;
  /** False: the text is not such a field. Null: the number. */
  bool (*read)(Draft&, const Field&, std::string_view text) = nullptr;

  bool print_to(const View& view, std::string& text) const;
  bool read_from(Draft& draft, std::string_view text) const;
  bool needs_ip() const;
};

// Options of headers as text, separated by semicolons (when they are read, also by commas): "mss1460;sackok;ts1:2",
// "rr{10.0.0.1}+2"; "." if there are none but such that fill up. Others than those that have a name are
// NUMBER=BYTE:BYTE...
/** "?": these are no options. */
void append_ip_options(std::string& text, std::span<const uint8_t> options);
void append_tcp_options(std::string& text, std::span<const uint8_t> options);
/** At most 40 bytes; false: the text is not such. */
bool parse_ip_options(std::string_view text, std::string& bytes);
bool parse_tcp_options(std::string_view text, std::string& bytes);

/** By its name, or a former one; null if there is none. */
const Field* find_field(std::string_view name);
std::string field_names();

/** The columns of a dump as an argument: names separated by spaces. */
struct Fields {
  std::vector<const Field*> list;
  std::string unknown;  ///< the word for which parse() failed
};
bool parse(std::string_view text, Fields& fields);
std::string expectation(const Fields&);

}  // namespace heddle::summary
