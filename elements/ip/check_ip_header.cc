#include "elements/ip/check_ip_header.h"

#include <arpa/inet.h>

#include <algorithm>

#include "click/arguments.h"
#include "core/checksum.h"
#include "core/load.h"

namespace heddle {
namespace {

std::vector<uint32_t> network_order(const std::vector<click::Ipv4Address>& addresses) {
  std::vector<uint32_t> result;
  for (auto& address : addresses) result.push_back(htonl(address.value));
  return result;
}

bool contains(const std::vector<uint32_t>& list, uint32_t address) {
  return std::find(list.begin(), list.end(), address) != list.end();
}

}  // namespace

void CheckIPHeader::configure(click::Arguments& arguments) {
  std::vector<click::Ipv4Address> bad, good;
  arguments.optional("OFFSET", offset_, 0, 16384);
  arguments.keyword("BADSRC", bad).keyword("GOODDST", good).keyword("CHECKSUM", checksum_);
  bad_sources_ = network_order(bad);
  good_destinations_ = network_order(good);
}

Access CheckIPHeader::access(Processor) const {
  // Options reach to byte 60 of the header.
  return {.reads = {{Base::head, offset_, offset_ + 60}},
          .column_writes = columns(Column::dst, Column::l3, Column::l4)};
}

std::span<const char* const> CheckIPHeader::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short",      "bad_version",  "bad_header_length",
                                             "bad_length", "bad_checksum", "bad_source"};
  return kReasons;
}

CheckIPHeader::Reason CheckIPHeader::check(const uint8_t* header, uint32_t room) const {
  if (room < 20) return kShort;
  if (header[0] >> 4 != 4) return kBadVersion;
  const uint32_t header_bytes = (header[0] & 15u) * 4;
  if (header_bytes < 20) return kBadHeaderLength;
  if (room < header_bytes) return kShort;
  const uint32_t total = ntohs(load_u16(header + 2));
  if (total < header_bytes || total > room) return kBadLength;
  if (checksum_ && !ip4_checksum_ok(header, header_bytes)) return kBadChecksum;
  if (!bad_sources_.empty() && contains(bad_sources_, load_u32(header + 12)) &&
      !contains(good_destinations_, load_u32(header + 16)))
    return kBadSource;
  return kValid;
}

void CheckIPHeader::run_cpu(Batch& batch) {
  uint32_t* dst = batch.column(Column::dst);
  uint32_t* l3 = batch.column(Column::l3);
  uint32_t* l4 = batch.column(Column::l4);
  const auto offset = static_cast<uint32_t>(offset_);
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    const uint32_t bytes = length(packet);
    const uint8_t* header = data(packet) + offset;
    const Reason reason = check(header, bytes < offset ? 0 : bytes - offset);
    if (reason != kValid) {
      dst[i] = l3[i] = l4[i] = 0;
      if (outputs > 1)
        batch.next()[i] = 1;
      else
        batch.drop(i, reason);
      continue;
    }
    dst[i] = load_u32(header + 16);
    l3[i] = packet->data_off + offset;
    l4[i] = l3[i] + (header[0] & 15u) * 4;
    const uint32_t wanted = offset + ntohs(load_u16(header + 2));
    if (wanted < bytes) packet->data_len = static_cast<uint16_t>(wanted), packet->pkt_len = wanted;
  }
}

HEDDLE_ELEMENT(CheckIPHeader);

}  // namespace heddle
