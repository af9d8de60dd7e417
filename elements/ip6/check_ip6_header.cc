#include "elements/ip6/check_ip6_header.h"

#include <arpa/inet.h>
#include <rte_prefetch.h>

#include "click/arguments.h"
#include "core/load.h"
#include "elements/ip6/header.h"

namespace heddle {
namespace {

constexpr int kAhead = 8;

}  // namespace

void CheckIP6Header::configure(click::Arguments& arguments) {
  arguments.keyword("BADADDRS", bad_addresses_).keyword("OFFSET", offset_, 0, 16384);
  const std::vector<click::Argument> positional = arguments.rest();
  for (size_t i = 0; i < positional.size(); ++i) {
    const std::string_view text = positional[i].text;
    const bool last = i + 1 == positional.size();
    if (i == 0 && parse(text, bad_addresses_)) continue;
    if (i > 1 || (i == 0 && !last))
      arguments.error(positional[i], i == 0 ? expectation(bad_addresses_) : "expected: OFFSET is the last argument");
    else if (!click::parse(text, offset_, 0, 16384))
      arguments.error(positional[i], "OFFSET, " + click::expectation(offset_, 0, 16384));
  }
}

Access CheckIP6Header::access(Processor) const {
  return {.reads = {{Base::head, offset_, offset_ + static_cast<int>(kIp6HeaderBytes)}},
          .column_writes = columns(Column::l3, Column::l4)};
}

std::span<const char* const> CheckIP6Header::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short", "bad_version", "bad_length", "bad_source", "bad_destination"};
  return kReasons;
}

CheckIP6Header::Reason CheckIP6Header::check(const uint8_t* header, uint32_t room) const {
  if (room < kIp6HeaderBytes) return kShort;
  if (header[0] >> 4 != 6) return kBadVersion;
  if (ntohs(load_u16(header + 4)) > room - kIp6HeaderBytes) return kBadLength;
  const uint8_t *source = header + 8, *destination = header + 24;
  if (source[0] == 0xff || bad_addresses_.contain(source)) return kBadSource;
  if ((load_u64(destination) | load_u64(destination + 8)) == 0 || bad_addresses_.contain(destination))
    return kBadDestination;
  return kValid;
}

void CheckIP6Header::run_cpu(Batch& batch) {
  uint32_t *l3 = batch.column(Column::l3), *l4 = batch.column(Column::l4);
  const auto offset = static_cast<uint32_t>(offset_);
  const int n = batch.size();
  uint64_t refused = 0;
  for (int i = 0; i < n; ++i) {
    rte_prefetch0(batch.frame(i + kAhead < n ? i + kAhead : i) + offset);
    Packet* packet = batch.packet(i);
    const uint32_t bytes = length(packet);
    const uint8_t* header = data(packet) + offset;
    if (const Reason reason = check(header, bytes < offset ? 0 : bytes - offset); reason != kValid) [[unlikely]] {
      l3[i] = l4[i] = 0;
      if (outputs > 1)
        batch.next()[i] = 1;
      else
        batch.drop(i, reason);
      ++refused;
      continue;
    }
    const uint32_t wanted = offset + kIp6HeaderBytes + ntohs(load_u16(header + 4));
    l3[i] = packet->data_off + offset;
    l4[i] = l3[i] + kIp6HeaderBytes;
    if (wanted < bytes) packet->data_len = static_cast<uint16_t>(wanted), packet->pkt_len = wanted;
  }
  valid_[batch.thread].add(static_cast<uint64_t>(n) - refused, 0);
  if (refused != 0) bad_[batch.thread].add(refused, 0);
}

void CheckIP6Header::handlers(Handlers& list) {
  list.read("count", [this] { return std::to_string(valid_.packets()); }).read("drops", [this] {
    return std::to_string(bad_.packets());
  });
}

HEDDLE_ELEMENT(CheckIP6Header);

}  // namespace heddle
