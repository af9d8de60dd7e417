#include "convert/routes/mrt.h"

#include <optional>
#include <vector>

#include "core/error.h"
#include "functions/ip_lookup/route.h"

namespace heddle::ip_lookup {
namespace {

constexpr size_t kHeaderBytes = 12;
constexpr uint32_t kMaxRecordBytes = 16 << 20;
constexpr uint16_t kTableDump = 12, kTableDumpV2 = 13;                      // types
constexpr uint16_t kAfiIpv4 = 1;                                            // subtype of kTableDump
constexpr uint16_t kRibIpv4Unicast = 2, kRibIpv4UnicastAddPath = 8;         // subtypes of kTableDumpV2
constexpr uint8_t kNextHop = 3, kExtendedLength = 0x10, kNextHopBytes = 4;  // BGP path attributes (RFC 4271)

/** Numbers in network byte order, one after the other, none beyond the end. */
class Fields {
 public:
  Fields(std::span<const uint8_t> bytes, uint64_t offset) : rest_(bytes), offset_(offset) {}

  bool empty() const { return rest_.empty(); }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(format("byte %llu: ", static_cast<unsigned long long>(offset_)) + what);
  }
  /** The next `count` bytes, called `what` in an error. */
  Fields take(size_t count, const char* what) {
    if (count > rest_.size())
      fail(format("%s needs %zu bytes, but its record or list has %zu left", what, count, rest_.size()));
    const Fields taken(rest_.first(count), offset_);
    rest_ = rest_.subspan(count);
    offset_ += count;
    return taken;
  }
  uint32_t number(size_t bytes, const char* what) {
    uint32_t value = 0;
    for (const uint8_t byte : take(bytes, what).rest_) value = value << 8 | byte;
    return value;
  }

 private:
  std::span<const uint8_t> rest_;
  uint64_t offset_;
};

/** The NEXT_HOP among BGP path attributes. */
std::optional<uint32_t> next_hop(Fields attributes) {
  std::optional<uint32_t> found;
  while (!attributes.empty()) {
    const uint32_t flags = attributes.number(1, "a path attribute"), type = attributes.number(1, "a path attribute");
    const uint32_t length = attributes.number((flags & kExtendedLength) != 0 ? 2 : 1, "a path attribute's length");
    Fields value = attributes.take(length, "a path attribute");
    if (type != kNextHop || found) continue;
    if (length != kNextHopBytes) value.fail(format("a NEXT_HOP attribute has %u bytes; expected 4", length));
    found = value.number(kNextHopBytes, "a next hop");
  }
  return found;
}

uint8_t prefix_length(Fields& record) {
  const Fields here = record;
  const uint32_t length = record.number(1, "a prefix length");
  if (length > 32) here.fail(format("an IPv4 prefix length of %u; expected 0 to 32", length));
  return static_cast<uint8_t>(length);
}

struct Found {
  uint32_t address;
  uint8_t length;
  std::optional<uint32_t> next_hop;
};

Found read_table_dump(Fields record) {
  record.take(4, "view and sequence number");
  Found found{};
  found.address = record.number(4, "a prefix");
  found.length = prefix_length(record);
  record.take(1 + 4 + 4 + 2, "status, time and peer");
  found.next_hop = next_hop(record.take(record.number(2, "the attributes' length"), "the attributes"));
  return found;
}

Found read_rib(Fields record, bool additional_paths) {
  record.take(4, "a sequence number");
  Found found{};
  found.length = prefix_length(record);
  const size_t bytes = (found.length + 7u) / 8;
  if (bytes > 0) found.address = record.number(bytes, "a prefix") << (32 - 8 * bytes);
  for (uint32_t entries = record.number(2, "the number of entries"); entries > 0; --entries) {
    record.take(2 + 4, "peer index and time");
    if (additional_paths) record.take(4, "a path identifier");
    const auto hop = next_hop(record.take(record.number(2, "the attributes' length"), "the attributes"));
    if (!found.next_hop) found.next_hop = hop;
  }
  return found;
}

}  // namespace

MrtCounts read_mrt(ByteStream& stream, const RouteSink& sink) {
  MrtCounts counts;
  std::vector<uint8_t> record;
  uint8_t header[kHeaderBytes];
  for (uint64_t offset = 0;; ++counts.records) {
    const size_t got = stream.read(header);
    if (got == 0) return counts;
    Fields start({header, got}, offset);
    if (got < kHeaderBytes) start.fail(format("the file ends within a record's header of %zu bytes", kHeaderBytes));
    start.take(4, "time");
    const uint32_t type = start.number(2, "type"), subtype = start.number(2, "subtype"), size = start.number(4, "size");
    offset += kHeaderBytes;
    const Fields here({}, offset);
    if (size > kMaxRecordBytes)
      here.fail(
          format("a record of %u bytes; no MRT record has more than %u: is this an MRT file?", size, kMaxRecordBytes));
    record.resize(size);
    if (const size_t have = stream.read(record); have < size)
      here.fail(format("the file ends within a record: %zu of its %u bytes are there", have, size));
    const Fields body(record, offset);
    offset += size;

    std::optional<Found> found;
    if (type == kTableDump && subtype == kAfiIpv4)
      found = read_table_dump(body);
    else if (type == kTableDumpV2 && (subtype == kRibIpv4Unicast || subtype == kRibIpv4UnicastAddPath))
      found = read_rib(body, subtype == kRibIpv4UnicastAddPath);
    if (!found)
      ++counts.other_records;
    else if (!found->next_hop)
      ++counts.without_next_hop;
    else
      sink({.address = found->address & prefix_mask(found->length),
            .length = found->length,
            .gateway = *found->next_hop});
  }
}

}  // namespace heddle::ip_lookup
