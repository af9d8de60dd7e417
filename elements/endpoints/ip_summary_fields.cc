// The fields of IP summary dumps: each one's text, both ways.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "click/diagnostics.h"
#include "click/quoting.h"
#include "click/values.h"
#include "core/error.h"
#include "elements/endpoints/ip_summary.h"
#include "elements/ip/ip_text.h"

namespace heddle::summary {
namespace {

constexpr const char* kTcpFlags = "FSRPAUECN";  // bit 0 first

constexpr bool has_identifier(uint8_t icmp_type) {
  return icmp_type == 0 || icmp_type == 8 || (icmp_type >= 13 && icmp_type <= 18);
}

bool number(std::string_view text, uint64_t& value, uint64_t max = UINT32_MAX) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value <= max;
}
void append(std::string& text, uint64_t value) {
  char digits[24];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

/** The header that holds the field, if it has all of the field. */
const uint8_t* header_of(const View& view, const Field& field) {
  if (view.ip == nullptr) return nullptr;
  if (field.layer == Layer::ip) return view.ip;
  const uint8_t protocol = view.ip[9];
  const bool fits = (field.layer == Layer::ports && (protocol == kTcp || protocol == kUdp)) ||
                    (field.layer == Layer::tcp && protocol == kTcp) ||
                    (field.layer == Layer::udp && protocol == kUdp) ||
                    (field.layer == Layer::icmp && protocol == kIcmp);
  const bool whole = view.transport != nullptr && view.transport_bytes >= uint32_t{field.offset} + field.bytes;
  return fits && whole ? view.transport : nullptr;
}
uint32_t shift_of(uint32_t mask) { return static_cast<uint32_t>(__builtin_ctz(mask)); }
bool value_of(const View& view, const Field& field, uint32_t& value) {
  const uint8_t* const header = header_of(view, field);
  if (header == nullptr) return false;
  value = (get(header + field.offset, field.bytes) & field.mask) >> shift_of(field.mask);
  return true;
}
bool set_value(Draft& draft, const Field& field, uint32_t value) {
  uint8_t* header = draft.ip.data();
  if (field.layer != Layer::ip) {
    const uint8_t protocol = draft.protocol();
    if ((field.layer == Layer::tcp && protocol != kTcp) || (field.layer == Layer::udp && protocol != kUdp) ||
        (field.layer == Layer::icmp && protocol != kIcmp) || draft.transport_header_bytes() == 0)
      return true;  // said of a packet that has no such header
    header = draft.transport.data();
  }
  const uint32_t others = get(header + field.offset, field.bytes) & ~field.mask;
  put(header + field.offset, field.bytes, others | ((value << shift_of(field.mask)) & field.mask));
  return true;
}
uint32_t largest(const Field& field) { return field.mask >> shift_of(field.mask); }

// ---- texts of their own

bool print_address(const View& view, const Field& field, std::string& text) {
  const uint8_t* const header = header_of(view, field);
  for (uint32_t i = 0; header != nullptr && i < 4; ++i) {
    if (i > 0) text += '.';
    append(text, header[field.offset + i]);
  }
  return header != nullptr;
}
bool read_address(Draft& draft, const Field& field, std::string_view text) {
  click::Ipv4Address address;
  return click::parse(text, address) && set_value(draft, field, address.value);
}

bool print_protocol(const View& view, const Field&, std::string& text) {
  if (view.ip == nullptr) return false;
  switch (view.ip[9]) {
    case kTcp:
      text += 'T';
      break;
    case kUdp:
      text += 'U';
      break;
    case kIcmp:
      text += 'I';
      break;
    default:
      append(text, view.ip[9]);
  }
  return true;
}
/** The number below `end` that `name_of` gives this name; `end`: none. */
template <class NameOf>
uint32_t find_name(std::string_view text, uint32_t end, const NameOf& name_of) {
  for (uint32_t value = 0; value < end; ++value)
    if (const char* const name = name_of(value); name != nullptr && text == name) return value;
  return end;
}
bool read_protocol(Draft& draft, const Field&, std::string_view text) {
  uint64_t value = text == "T" ? kTcp : text == "U" ? kUdp : text == "I" ? kIcmp : find_name(text, 256, protocol_name);
  if (value == 256 && !number(text, value, 255)) return false;
  draft.ip[9] = static_cast<uint8_t>(value);
  return true;
}

constexpr const char* kEcn[] = {"no", "ect1", "ect2", "ce"};
bool print_ecn(const View& view, const Field& field, std::string& text) {
  uint32_t value = 0;
  if (!value_of(view, field, value)) return false;
  text += kEcn[value];
  return true;
}
bool read_ecn(Draft& draft, const Field& field, std::string_view text) {
  uint64_t value = find_name(text, 4, [](uint32_t i) { return kEcn[i]; });
  return (value < 4 || number(text, value, 3)) && set_value(draft, field, static_cast<uint32_t>(value));
}

// Names of ICMP's types, and of codes of the type that the packet has; numbers where there is no name.
bool print_icmp_type_name(const View& view, const Field& field, std::string& text) {
  uint32_t type = 0;
  if (!value_of(view, field, type)) return false;
  if (const char* const name = icmp_type_name(type))
    text += name;
  else
    append(text, type);
  return true;
}
bool read_icmp_type(Draft& draft, const Field& field, std::string_view text) {
  uint64_t value = find_name(text, 256, icmp_type_name);
  return (value < 256 || number(text, value, 255)) && set_value(draft, field, static_cast<uint32_t>(value));
}
bool print_icmp_code_name(const View& view, const Field& field, std::string& text) {
  uint32_t code = 0;
  if (!value_of(view, field, code)) return false;
  if (const char* const name = icmp_code_name(view.transport[0], code))
    text += name;
  else
    append(text, code);
  return true;
}
bool read_icmp_code(Draft& draft, const Field& field, std::string_view text) {
  const uint32_t type = draft.transport[0];
  uint64_t value = find_name(text, 256, [type](uint32_t code) { return icmp_code_name(type, code); });
  return (value < 256 || number(text, value, 255)) && set_value(draft, field, static_cast<uint32_t>(value));
}
/** Of messages that ask and answer, which alone have an identifier and a sequence number (RFC 792, RFC 950). */
bool print_icmp_number(const View& view, const Field& field, std::string& text) {
  const uint8_t* const icmp = header_of(view, field);
  if (icmp == nullptr || !has_identifier(icmp[0])) return false;
  append(text, get(icmp + field.offset, 2));
  return true;
}
/** Of "unreachable, fragmentation needed" (RFC 1191). */
bool print_next_mtu(const View& view, const Field& field, std::string& text) {
  const uint8_t* const icmp = header_of(view, field);
  if (icmp == nullptr || icmp[0] != 3 || icmp[1] != 4) return false;
  append(text, get(icmp + field.offset, 2));
  return true;
}

bool print_fragment(const View& view, const Field& field, std::string& text) {
  uint32_t value = 0;
  if (!value_of(view, field, value)) return false;
  const char whole = (value & kDontFragment) != 0 ? '!' : '.';
  text += (value & kOffsetMask) != 0 ? 'f' : (value & kMoreFragments) != 0 ? 'F' : whole;
  return true;
}
bool print_fragment_offset(const View& view, const Field& field, std::string& text) {
  uint32_t value = 0;
  if (!value_of(view, field, value)) return false;
  append(text, (value & kOffsetMask) * 8);
  if ((value & kMoreFragments) != 0) text += '+';
  if ((value & kDontFragment) != 0) text += '!';
  return true;
}
/** Both ways of saying it, in either field. A letter says less, and takes nothing back that an offset has said. */
bool read_fragment(Draft& draft, const Field& field, std::string_view text) {
  const uint32_t before = get(draft.ip.data() + field.offset, 2);
  if (text == ".") return true;
  if (text == "!") return set_value(draft, field, before | kDontFragment);
  if (text == "F") return set_value(draft, field, before | kMoreFragments);
  if (text == "f") return set_value(draft, field, (before & kOffsetMask) == 0 ? before | 100 : before);  // as Click's
  const size_t digits = std::min(text.find_first_of("+!"), text.size());
  uint32_t flags = 0;
  for (const char flag : text.substr(digits)) {
    if (flag != '+' && flag != '!') return false;
    flags |= flag == '+' ? kMoreFragments : kDontFragment;
  }
  uint64_t offset = 0;
  if (!number(text.substr(0, digits), offset, kOffsetMask * 8) || offset % 8 != 0) return false;
  return set_value(draft, field, static_cast<uint32_t>(offset / 8) | flags);
}

/** ip_hl and tcp_off, in bytes: rounded up to whole words, filled with options that mean nothing behind others. */
template <uint32_t Draft::*kBytes, std::string Draft::*kOptions>
bool read_header_length(Draft& draft, const Field&, std::string_view text) {
  uint64_t value = 0;
  if (!number(text, value, 60) || value < 20) return false;
  draft.*kBytes = static_cast<uint32_t>(std::max(value, 20 + (draft.*kOptions).size()) + 3) & ~3u;
  return true;
}
template <uint32_t Draft::*kBytes, std::string Draft::*kOptions, bool kParse(std::string_view, std::string&)>
bool read_options(Draft& draft, const Field&, std::string_view text) {
  if (!kParse(text, draft.*kOptions)) return false;
  draft.*kBytes = std::max(draft.*kBytes, static_cast<uint32_t>(20 + (draft.*kOptions).size() + 3) & ~3u);
  return true;
}
bool print_ip_options(const View& view, const Field&, std::string& text) {
  if (view.ip == nullptr) return false;
  append_ip_options(text, {view.ip + 20, header_bytes(view.ip) - 20});
  return true;
}
bool print_tcp_options(const View& view, const Field& field, std::string& text) {
  const uint8_t* const tcp = header_of(view, field);
  const uint32_t bytes = tcp == nullptr ? 0 : (tcp[12] >> 4) * 4u;
  if (bytes < 20 || bytes > view.transport_bytes) return false;
  append_tcp_options(text, {tcp + 20, bytes - 20});
  return true;
}

bool print_flags(const View& view, const Field& field, std::string& text) {
  uint32_t flags = 0;
  if (!value_of(view, field, flags)) return false;
  if (flags == 0) text += '.';
  for (int bit = 0; bit < 9; ++bit)
    if ((flags >> bit & 1) != 0) text += kTcpFlags[bit];
  return true;
}
bool read_flags(Draft& draft, const Field& field, std::string_view text) {
  uint64_t value = 0;
  if (number(text, value, largest(field))) return set_value(draft, field, static_cast<uint32_t>(value));
  uint32_t flags = 0;
  for (const char letter : text == "." ? std::string_view() : text) {
    const char* const found = std::strchr(kTcpFlags, letter == 'X' ? 'E' : letter == 'Y' ? 'C' : letter);
    if (found == nullptr || letter == '\0') return false;
    flags |= 1u << (found - kTcpFlags);
  }
  return set_value(draft, field, flags);
}

bool read_timestamp(Draft& draft, const Field&, std::string_view text) {
  const size_t point = std::min(text.find('.'), text.size());
  uint64_t seconds = 0, ns = 0;
  if (point > 0 ? !number(text.substr(0, point), seconds) : text.size() < 2) return false;  // ".5" is half a second
  if (point < text.size()) {
    const std::string_view digits = text.substr(point + 1);
    if (digits.size() > 9 || (!digits.empty() && !number(digits, ns))) return false;
    for (size_t i = digits.size(); i < 9; ++i) ns *= 10;
  }
  draft.timestamp_ns = seconds * 1000000000 + ns;
  return true;
}
// AdjustTimestamp can make times before 1970, which are negative.
bool before_1970(const View& view) { return static_cast<int64_t>(view.info.timestamp_ns) < 0; }
uint64_t distance_ns(const View& view) { return before_1970(view) ? -view.info.timestamp_ns : view.info.timestamp_ns; }
bool print_seconds(const View& view, const Field&, std::string& text) {
  if (before_1970(view)) text += '-';
  append(text, distance_ns(view) / 1000000000);
  return true;
}
bool read_seconds(Draft& draft, const Field&, std::string_view text) {
  uint64_t value = 0;
  if (!number(text, value)) return false;
  draft.timestamp_ns = draft.timestamp_ns % 1000000000 + value * 1000000000;
  return true;
}
bool print_microseconds(const View& view, const Field&, std::string& text) {
  append(text, distance_ns(view) % 1000000000 / 1000);
  return true;
}
bool read_microseconds(Draft& draft, const Field&, std::string_view text) {
  uint64_t value = 0;
  if (!number(text, value, 999999)) return false;
  draft.timestamp_ns = draft.timestamp_ns / 1000000000 * 1000000000 + value * 1000;
  return true;
}
/** Seconds with as many digits behind the point as the unit has. */
template <unsigned kDigits>
bool print_fixed_timestamp(const View& view, const Field& field, std::string& text) {
  const uint64_t ns = distance_ns(view) % 1000000000;
  print_seconds(view, field, text);
  text += format(".%0*llu", kDigits, static_cast<unsigned long long>(kDigits == 6 ? ns / 1000 : ns));
  return true;
}
bool print_timestamp(const View& view, const Field& field, std::string& text) {
  return distance_ns(view) % 1000 == 0 ? print_fixed_timestamp<6>(view, field, text)
                                       : print_fixed_timestamp<9>(view, field, text);
}
bool print_all_microseconds(const View& view, const Field&, std::string& text) {
  if (before_1970(view)) text += '-';
  append(text, distance_ns(view) / 1000);
  return true;
}
bool read_all_microseconds(Draft& draft, const Field&, std::string_view text) {
  uint64_t value = 0;
  if (!number(text, value, UINT64_MAX / 1000)) return false;
  draft.timestamp_ns = value * 1000;
  return true;
}

uint32_t ip_length(const View& view) { return get(view.ip + 2, 2); }
bool print_ip_length(const View& view, const Field&, std::string& text) {
  if (view.ip == nullptr) return false;
  append(text, ip_length(view));
  return true;
}
bool read_ip_length(Draft& draft, const Field&, std::string_view text) {
  uint64_t value = 0;
  if (!number(text, value, 65535)) return false;
  draft.ip_length = static_cast<uint32_t>(value);
  return draft.has_ip_length = true;
}
bool print_captured_length(const View& view, const Field&, std::string& text) {
  if (view.ip == nullptr) return false;
  append(text, view.ip_bytes);
  return true;
}
bool read_captured_length(Draft& draft, const Field&, std::string_view text) {
  uint64_t value = 0;
  if (!number(text, value, 65535)) return false;
  draft.captured_length = static_cast<uint32_t>(value);
  return true;
}
bool print_wire_length(const View& view, const Field&, std::string& text) {
  append(text, uint64_t{view.frame_bytes} + view.info.missing_bytes);
  return true;
}
bool read_wire_length(Draft& draft, const Field&, std::string_view text) {
  uint64_t value = 0;
  if (!number(text, value)) return false;
  draft.wire_length = static_cast<uint32_t>(value);
  return true;
}

/** Where the payload begins, from the IP header on. As in Click, an ICMP header is part of it. */
uint32_t payload_offset(const View& view) {
  uint32_t offset = header_bytes(view.ip);
  if (view.transport == nullptr) return offset;
  if (view.ip[9] == kUdp) return offset + 8;
  if (view.ip[9] == kTcp && view.transport_bytes >= 13) return offset + std::max(20u, (view.transport[12] >> 4) * 4u);
  return offset;
}
bool print_payload_length(const View& view, const Field&, std::string& text) {
  if (view.ip == nullptr) return false;
  const uint32_t offset = payload_offset(view), whole = ip_length(view);
  append(text, whole > offset ? whole - offset : 0);
  return true;
}
bool read_payload_length(Draft& draft, const Field&, std::string_view text) {
  uint64_t value = 0;
  if (!number(text, value, 65535 - 40)) return false;
  draft.payload_length = static_cast<uint32_t>(value);
  return draft.has_payload_length = true;
}
bool print_payload(const View& view, const Field&, std::string& text) {
  if (view.ip == nullptr) return false;
  const uint32_t offset = payload_offset(view);
  text += '"';
  for (uint32_t i = offset; i < view.ip_bytes; ++i) {
    const uint8_t byte = view.ip[i];
    if (byte == '"' || byte == '\\' || byte == '$') {
      text += '\\', text += static_cast<char>(byte);
    } else if (byte == '\n' || byte == '\r' || byte == '\t') {
      text += byte == '\n' ? "\\n" : byte == '\r' ? "\\r" : "\\t";
    } else if (byte < 32 || byte > 126) {
      const char octal[] = {'\\', static_cast<char>('0' + (byte >> 6)), static_cast<char>('0' + (byte >> 3 & 7)),
                            static_cast<char>('0' + (byte & 7)), '\0'};
      text += octal;
    } else {
      text += static_cast<char>(byte);
    }
  }
  text += '"';
  return true;
}
bool read_payload(Draft& draft, const Field&, std::string_view text) {
  draft.payload = click::unquote(text);
  return draft.payload.size() <= 65535 - 40;
}

bool print_count(const View& view, const Field&, std::string& text) {
  append(text, uint64_t{1} + view.info.more_packets);
  return true;
}
bool read_count(Draft& draft, const Field&, std::string_view text) {
  uint64_t value = 0;
  if (!number(text, value)) return false;
  draft.count = static_cast<uint32_t>(value);
  return true;
}
bool print_paint(const View& view, const Field&, std::string& text) {
  append(text, view.paint);
  return true;
}
bool read_paint(Draft& draft, const Field&, std::string_view text) {
  uint64_t value = 0;
  if (!number(text, value, 255)) return false;
  draft.paint = static_cast<uint32_t>(value);
  return true;
}
bool print_aggregate(const View& view, const Field&, std::string& text) {
  append(text, view.aggregate);
  return true;
}
bool read_aggregate(Draft& draft, const Field&, std::string_view text) {
  uint64_t value = 0;
  if (!number(text, value)) return false;
  draft.aggregate = static_cast<uint32_t>(value);
  return true;
}
bool print_direction(const View& view, const Field&, std::string& text) {
  if (view.paint > 1) return print_paint(view, {}, text);
  text += view.paint == 0 ? '>' : '<';
  return true;
}
bool read_direction(Draft& draft, const Field& field, std::string_view text) {
  if (text != ">" && text != "L" && text != "<" && text != "R") return read_paint(draft, field, text);
  draft.paint = text == "<" || text == "R" ? 1 : 0;
  return true;
}
template <int kAt>
bool print_ether_address(const View& view, const Field&, std::string& text) {
  if (view.ethernet == nullptr) return false;
  for (int i = 0; i < 6; ++i) text += format(i == 0 ? "%02X" : "-%02X", view.ethernet[kAt + i]);
  return true;
}
bool cannot_read(Draft&, const Field&, std::string_view) { return true; }

constexpr Field kFields[] = {
    {"timestamp", Layer::none, 0, 0, 0, print_timestamp, read_timestamp},
    {"ts_sec", Layer::none, 0, 0, 0, print_seconds, read_seconds},
    {"ts_usec", Layer::none, 0, 0, 0, print_microseconds, read_microseconds},
    {"ts_usec1", Layer::none, 0, 0, 0, print_all_microseconds, read_all_microseconds},
    {"utimestamp", Layer::none, 0, 0, 0, print_fixed_timestamp<6>, read_timestamp},
    {"ntimestamp", Layer::none, 0, 0, 0, print_fixed_timestamp<9>, read_timestamp},
    {"eth_src", Layer::ip, 0, 0, 0, print_ether_address<6>, cannot_read},
    {"eth_dst", Layer::ip, 0, 0, 0, print_ether_address<0>, cannot_read},
    {"ip_v", Layer::ip, 0, 1, 0xf0, nullptr, cannot_read},
    {"ip_hl", Layer::ip, 0, 1, 0x0f, nullptr, read_header_length<&Draft::ip_header_bytes, &Draft::ip_options>},
    {"ip_src", Layer::ip, 12, 4, UINT32_MAX, print_address, read_address},
    {"ip_dst", Layer::ip, 16, 4, UINT32_MAX, print_address, read_address},
    {"ip_tos", Layer::ip, 1, 1, 0xff},
    {"ip_dscp", Layer::ip, 1, 1, 0xfc},
    {"ip_ecn", Layer::ip, 1, 1, 0x03, print_ecn, read_ecn},
    {"ip_ttl", Layer::ip, 8, 1, 0xff},
    {"ip_proto", Layer::ip, 9, 1, 0xff, print_protocol, read_protocol},
    {"ip_id", Layer::ip, 4, 2, 0xffff},
    {"ip_sum", Layer::ip, 10, 2, 0xffff},
    {"ip_frag", Layer::ip, 6, 2, 0xffff, print_fragment, read_fragment},
    {"ip_fragoff", Layer::ip, 6, 2, 0xffff, print_fragment_offset, read_fragment},
    {"ip_len", Layer::ip, 2, 2, 0xffff, print_ip_length, read_ip_length},
    {"ip_opt", Layer::ip, 0, 0, 0, print_ip_options,
     read_options<&Draft::ip_header_bytes, &Draft::ip_options, parse_ip_options>},
    {"ip_capture_len", Layer::ip, 0, 0, 0, print_captured_length, read_captured_length},
    {"wire_len", Layer::none, 0, 0, 0, print_wire_length, read_wire_length},
    {"sport", Layer::ports, 0, 2, 0xffff},
    {"dport", Layer::ports, 2, 2, 0xffff},
    {"tcp_seq", Layer::tcp, 4, 4, UINT32_MAX},
    {"tcp_ack", Layer::tcp, 8, 4, UINT32_MAX},
    {"tcp_off", Layer::tcp, 12, 1, 0xf0, nullptr, read_header_length<&Draft::tcp_header_bytes, &Draft::tcp_options>},
    {"tcp_flags", Layer::tcp, 12, 2, 0x1ff, print_flags, read_flags},
    {"tcp_win", Layer::tcp, 14, 2, 0xffff},
    {"tcp_sum", Layer::tcp, 16, 2, 0xffff},
    {"tcp_urp", Layer::tcp, 18, 2, 0xffff},
    {"tcp_opt", Layer::tcp, 12, 1, 0xff, print_tcp_options,
     read_options<&Draft::tcp_header_bytes, &Draft::tcp_options, parse_tcp_options>},
    {"udp_len", Layer::udp, 4, 2, 0xffff},
    {"udp_sum", Layer::udp, 6, 2, 0xffff},
    {"icmp_type", Layer::icmp, 0, 1, 0xff, nullptr, read_icmp_type},
    {"icmp_type_name", Layer::icmp, 0, 1, 0xff, print_icmp_type_name, read_icmp_type},
    {"icmp_code", Layer::icmp, 1, 1, 0xff, nullptr, read_icmp_code},
    {"icmp_code_name", Layer::icmp, 1, 1, 0xff, print_icmp_code_name, read_icmp_code},
    {"icmp_sum", Layer::icmp, 2, 2, 0xffff},
    {"icmp_flowid", Layer::icmp, 4, 2, 0xffff, print_icmp_number},
    {"icmp_seq", Layer::icmp, 6, 2, 0xffff, print_icmp_number},
    {"icmp_nextmtu", Layer::icmp, 6, 2, 0xffff, print_next_mtu},
    {"payload_len", Layer::ip, 0, 0, 0, print_payload_length, read_payload_length},
    {"payload", Layer::ip, 0, 0, 0, print_payload, read_payload},
    {"count", Layer::none, 0, 0, 0, print_count, read_count},
    {"direction", Layer::none, 0, 0, 0, print_direction, read_direction},
    {"link", Layer::none, 0, 0, 0, print_paint, read_direction},
    {"paint", Layer::none, 0, 0, 0, print_paint, read_paint},
    {"aggregate", Layer::none, 0, 0, 0, print_aggregate, read_aggregate},
};

/** Names that earlier versions of the format, and tools around it, use. */
constexpr std::pair<const char*, const char*> kFormerNames[] = {
    {"ts", "timestamp"},        {"sec", "ts_sec"},         {"usec", "ts_usec"},   {"usec1", "ts_usec1"},
    {"src", "ip_src"},          {"dst", "ip_dst"},         {"proto", "ip_proto"}, {"tos", "ip_tos"},
    {"ttl", "ip_ttl"},          {"len", "ip_len"},         {"length", "ip_len"},  {"ip_p", "ip_proto"},
    {"frag", "ip_frag"},        {"fragoff", "ip_fragoff"}, {"packets", "count"},  {"pkt_count", "count"},
    {"wire_length", "wire_len"}};

}  // namespace

bool Field::needs_ip() const { return layer != Layer::none; }

bool Field::print_to(const View& view, std::string& text) const {
  if (print != nullptr) return print(view, *this, text);
  uint32_t value = 0;
  if (!value_of(view, *this, value)) return false;
  append(text, std::strcmp(name, "ip_hl") == 0 || std::strcmp(name, "tcp_off") == 0 ? value * 4 : value);
  return true;
}

bool Field::read_from(Draft& draft, std::string_view text) const {
  if (text == "-") return true;
  if (read != nullptr) return read(draft, *this, text);
  uint64_t value = 0;
  return number(text, value, largest(*this)) && set_value(draft, *this, static_cast<uint32_t>(value));
}

const Field* find_field(std::string_view name) {
  for (const auto& [former, now] : kFormerNames)
    if (name == former) name = now;
  for (const Field& field : kFields)
    if (name == field.name) return &field;
  return nullptr;
}

std::string field_names() {
  std::string names;
  for (const Field& field : kFields) names += (names.empty() ? "" : " ") + std::string(field.name);
  return names;
}

bool parse(std::string_view text, Fields& fields) {
  std::vector<const Field*> list;
  for (const std::string_view word : click::split_words(text)) {
    // "ip src" is ip_src, as Click has it, when quoted.
    std::string name = click::unquote(word);
    std::replace(name.begin(), name.end(), ' ', '_');
    list.push_back(find_field(name));
    if (list.back() != nullptr) continue;
    fields.unknown = name;
    return false;
  }
  if (list.empty()) return false;
  fields.list = std::move(list);
  return true;
}
std::string expectation(const Fields& fields) {
  const std::string which = fields.unknown.empty() ? "" : " (" + click::in_quotes(fields.unknown) + " is none)";
  return "a list of fields" + which + ", of " + field_names();
}

}  // namespace heddle::summary
