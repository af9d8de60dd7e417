#include "elements/analysis/ip_field.h"

#include <bit>
#include <optional>

#include "click/diagnostics.h"
#include "click/values.h"
#include "elements/ip/filter/names.h"
#include "elements/ip/transport.h"

namespace heddle {
namespace {

using Header = IPField::Header;
using ip_filter::kAnyTransport;
using ip_filter::kTcpOrUdp;

struct NamedField {
  int protocol;  // -1: of the IPv4 header
  const char* name;
  uint32_t offset, length;  // bits
};

// RFC 791, 3.1; RFC 2474; RFC 3168; RFC 9293, 3.1; RFC 768; RFC 792. Of several names for one field the first is usual.
constexpr NamedField kFields[] = {
    {-1, "vers", 0, 4},      {-1, "hl", 4, 4},          {-1, "tos", 8, 8},           {-1, "dscp", 8, 6},
    {-1, "ecn", 14, 2},      {-1, "len", 16, 16},       {-1, "id", 32, 16},          {-1, "off", 48, 16},
    {-1, "rf", 48, 1},       {-1, "df", 49, 1},         {-1, "mf", 50, 1},           {-1, "fragoff", 51, 13},
    {-1, "ttl", 64, 8},      {-1, "proto", 72, 8},      {-1, "sum", 80, 16},         {-1, "csum", 80, 16},
    {-1, "src", 96, 32},     {-1, "dst", 128, 32},      {kTcpOrUdp, "sport", 0, 16}, {kTcpOrUdp, "dport", 16, 16},
    {kUdp, "len", 32, 16},   {kUdp, "sum", 48, 16},     {kUdp, "csum", 48, 16},      {kTcp, "seq", 32, 32},
    {kTcp, "seqno", 32, 32}, {kTcp, "ackno", 64, 32},   {kTcp, "hl", 96, 4},         {kTcp, "flags", 104, 8},
    {kTcp, "urg", 106, 1},   {kTcp, "ack", 107, 1},     {kTcp, "ackf", 107, 1},      {kTcp, "psh", 108, 1},
    {kTcp, "push", 108, 1},  {kTcp, "rst", 109, 1},     {kTcp, "syn", 110, 1},       {kTcp, "fin", 111, 1},
    {kTcp, "win", 112, 16},  {kTcp, "window", 112, 16}, {kTcp, "sum", 128, 16},      {kTcp, "csum", 128, 16},
    {kTcp, "urp", 144, 16},  {kIcmp, "type", 0, 8},     {kIcmp, "code", 8, 8},       {kIcmp, "sum", 16, 16},
    {kIcmp, "csum", 16, 16},
};
constexpr uint32_t kMaxBits = 65535 * 8;  // of a packet

/** A mistake in the text of a field. */
struct Problem {
  std::string text;
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/** What is left of the text. */
class Rest {
 public:
  explicit Rest(std::string_view text) : text_(click::trim(text)) {}

  bool empty() const { return text_.empty(); }
  std::string text() const { return std::string(text_.substr(0, 40)); }
  std::string_view word() const {
    size_t end = 0;
    while (end < text_.size() && (is_letter(text_[end]) || (end > 0 && is_digit(text_[end])))) ++end;
    return text_.substr(0, end);
  }
  void skip(std::string_view word) { text_ = click::trim(text_.substr(word.size())); }
  bool take(char c) {
    if (!text_.starts_with(c)) return false;
    skip(text_.substr(0, 1));
    return true;
  }
  bool at_number() const { return !text_.empty() && is_digit(text_[0]); }
  /** Decimal, hexadecimal or octal, as in C. */
  uint32_t number(const char* of_what) {
    size_t end = 0;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
    uint32_t value = 0;
    if (!click::parse(text_.substr(0, end), value)) throw Problem{std::string("expected ") + of_what + at()};
    skip(text_.substr(0, end));
    return value;
  }
  /** A mask such as 255.255.0.0, if there is one. */
  std::optional<uint32_t> address() {
    size_t end = 0;
    while (end < text_.size() && (is_digit(text_[end]) || text_[end] == '.')) ++end;
    click::Ipv4Address address;
    if (!click::parse(text_.substr(0, end), address)) return std::nullopt;
    skip(text_.substr(0, end));
    return address.value;
  }
  std::string at() const { return empty() ? " at the end" : " at '" + text() + "'"; }

 private:
  std::string_view text_;
};

/** Whether a header may be asked for a field of `protocol`. */
bool has(const IPField& header, int protocol) {
  if (header.header == Header::ip) return protocol == -1 || protocol == kTcpOrUdp;
  if (header.header != Header::transport) return false;
  return protocol == header.protocol || (protocol == kTcpOrUdp && (header.protocol == kTcp || header.protocol == kUdp));
}

/** The header that the text begins with; false if it names none. */
bool take_header(Rest& rest, IPField& field) {
  const std::string_view word = rest.word();
  if (word == "ip") {
    rest.skip(word);
    Rest ahead = rest;
    if (ahead.word() != "proto") return true;
    ahead.skip("proto");
    if (!ahead.at_number()) return true;  // the field of this name
    const uint32_t number = ahead.number("a protocol");
    if (number > 255) throw Problem{"protocols are 0 to 255"};
    field.header = Header::transport, field.protocol = static_cast<int>(number);
    rest = ahead;
  } else if (word == "data" || word == "payload") {
    field.header = Header::payload;
    rest.skip(word);
  } else if (const auto protocol = word == "transport" ? kAnyTransport : ip_filter::find_protocol(word)) {
    field.header = Header::transport, field.protocol = *protocol;
    rest.skip(word);
  } else {
    return false;
  }
  return true;
}

/** The field that the text names, within `field`, whose header is known unless `any`. */
void take_name(Rest& rest, IPField& field, bool any) {
  const std::string_view word = rest.word();
  std::vector<std::string> known;
  for (const NamedField& named : kFields) {
    if (any ? named.protocol != kTcpOrUdp : !has(field, named.protocol)) continue;
    known.emplace_back(named.name);
    if (named.name != word) continue;
    if (named.protocol == kTcpOrUdp && field.header == Header::ip)
      field.header = Header::transport, field.protocol = kTcpOrUdp;
    field.offset = named.offset, field.length = named.length;
    rest.skip(word);
    return;
  }
  if (any) throw Problem{"it begins with ip, a protocol, transp or data"};
  std::string fields;
  for (const std::string& name : known) fields += (fields.empty() ? "" : " ") + name;
  throw Problem{
      "'" + std::string(word.substr(0, 40)) + "' is no field of " + field.header_name() +
      (fields.empty() ? ", which has [BYTE] and {BIT} only" : click::suggestion(word, known) + "; it has " + fields)};
}

/** "[...]" or "{...}": part of a field that has been named, or else of the header. */
void take_part(Rest& rest, IPField& field) {
  const bool bytes = rest.take('[');
  if (!bytes && !rest.take('{')) return;
  const uint64_t unit = bytes ? 8 : 1;
  const uint64_t from = rest.number(bytes ? "a byte" : "a bit");
  uint64_t many = 1;
  if (rest.take(':') || rest.take(',') || rest.take('+')) {
    many = rest.number("a length");
  } else if (rest.take('-')) {
    const uint64_t last = rest.number(bytes ? "the last byte" : "the last bit");
    if (last < from) throw Problem{"the last one comes before the first"};
    many = last - from + 1;
  }
  if (!rest.take(bytes ? ']' : '}')) throw Problem{std::string("expected ") + (bytes ? "']'" : "'}'") + rest.at()};
  if (many == 0) throw Problem{"it has no bits"};
  const uint64_t room = field.length == 0 ? kMaxBits : field.length;
  if (from * unit >= room || many * unit > room - from * unit)
    throw Problem{field.length == 0 ? "no packet is so long"
                                    : "the field has " + std::to_string(field.length) + " bits"};
  field.offset += static_cast<uint32_t>(from * unit), field.length = static_cast<uint32_t>(many * unit);
}

/** Leaves the bits that `mask` has, the field's last bit being its lowest. */
void apply_mask(IPField& field, uint32_t mask) {
  const auto top = static_cast<uint32_t>(std::bit_width(mask)), low = static_cast<uint32_t>(std::countr_zero(mask));
  if (mask == 0 || static_cast<uint32_t>(std::popcount(mask)) != top - low)
    throw Problem{"the ones of a mask are side by side, one at least"};
  if (top > field.length) throw Problem{"the mask is longer than the field, " + std::to_string(field.length) + " bits"};
  field.offset += field.length - top, field.length = top - low;
}

void take_masks(Rest& rest, IPField& field) {
  if (rest.take('/')) {
    if (const auto mask = rest.address()) {
      if (field.length != 32) throw Problem{"a mask like an address is for 32 bits"};
      apply_mask(field, *mask);
    } else {
      const uint32_t bits = rest.number("a number of bits");
      if (bits == 0 || bits > field.length) throw Problem{"bits behind '/' are 1 to " + std::to_string(field.length)};
      field.length = bits;
    }
  }
  if (rest.take('&')) {
    const auto mask = rest.address();
    apply_mask(field, mask ? *mask : rest.number("a mask"));
  }
}

}  // namespace

bool parse(std::string_view text, IPField& field) {
  IPField found;
  const std::string plain = click::unquote(text);
  Rest rest(plain);
  try {
    const bool header = take_header(rest, found);
    if (!header || !rest.word().empty()) take_name(rest, found, !header);
    take_part(rest, found);
    if (found.length == 0) throw Problem{"expected a field, [BYTE] or {BIT}" + rest.at()};
    take_masks(rest, found);
    if (!rest.empty()) throw Problem{"nothing can stand behind it" + rest.at()};
    if (found.length > 32)
      throw Problem{"it has " + std::to_string(found.length) + " bits; an aggregate has room for 32"};
  } catch (const Problem& problem) {
    field.problem = problem.text;
    return false;
  }
  field = found;
  return true;
}

std::string expectation(const IPField& field) {
  const std::string why = field.problem.empty() ? "" : " (" + field.problem + ")";
  return "a field such as 'ip src/24', 'tcp dport', 'ip[8:2] & 0x3F0' or 'data{0-3}'" + why;
}

bool IPField::read(const Ip4Header& ip, uint32_t& value) const {
  const uint8_t* at = ip.at;
  uint32_t bytes = ip.bytes + ip.payload();
  if (header != Header::ip) {
    if (!ip.first_fragment()) return false;
    const int own = ip.at[9];
    at = ip.behind(), bytes = ip.payload();
    if (header == Header::transport) {
      if (own != protocol && protocol != kAnyTransport && !(protocol == kTcpOrUdp && (own == kTcp || own == kUdp)))
        return false;
    } else {
      if ((own != kTcp && own != kUdp) || bytes < (own == kTcp ? 20u : 8u)) return false;
      const uint32_t before = own == kUdp ? 8 : (at[12] >> 4) * 4u;
      if (before < 8 || (own == kTcp && before < 20) || before > bytes) return false;
      at += before, bytes -= before;
    }
  }
  const uint32_t first = offset / 8, last = (offset + length - 1) / 8;
  if (last >= bytes) return false;
  uint64_t bits = 0;
  for (uint32_t i = first; i <= last; ++i) bits = bits << 8 | at[i];
  bits >>= 7 - (offset + length - 1) % 8;
  value = static_cast<uint32_t>(bits & (UINT64_MAX >> (64 - length)));
  return true;
}

std::string IPField::header_name() const {
  if (header == Header::ip) return "ip";
  if (header == Header::payload) return "payload";
  const std::string name = ip_filter::protocol_name(protocol);
  return name.find(' ') == name.npos ? name : std::to_string(protocol);  // "protocol 99"
}

std::string IPField::text() const {
  std::string name = header_name();
  if (header == Header::transport && !name.empty() && is_digit(name[0])) name = "ip proto " + name;
  for (const NamedField& named : kFields) {
    if (!has(*this, named.protocol) || (header == Header::ip && named.protocol != -1)) continue;
    if (named.offset != offset || named.length < length) continue;
    return name + " " + named.name + (named.length == length ? "" : "/" + std::to_string(length));
  }
  const bool bytes = offset % 8 == 0 && length % 8 == 0;
  const uint32_t unit = bytes ? 8 : 1;
  std::string part = std::to_string(offset / unit);
  if (length != unit) part += ":" + std::to_string(length / unit);
  return name + (bytes ? "[" + part + "]" : "{" + part + "}");
}

}  // namespace heddle
