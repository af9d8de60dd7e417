#include "elements/ip/ip_gw_options.h"

#include <algorithm>
#include <cstring>

#include "click/arguments.h"
#include "core/clock.h"
#include "elements/ip/header.h"

namespace heddle {
namespace {

enum Option : uint8_t { kEnd = 0, kNoOperation = 1, kRecordRoute = 7, kTimestamp = 68 };

/** Milliseconds since midnight UT, in network byte order. */
uint32_t time_of_day() { return htonl(static_cast<uint32_t>(RouterClock::wall_ns() / 1000000 % 86400000)); }

}  // namespace

void IPGWOptions::configure(click::Arguments& arguments) {
  click::Ipv4Address address;
  std::vector<click::Ipv4Address> others;
  arguments.required("MYADDR", address).optional("OTHERADDRS", others);
  address_ = htonl(address.value);
  mine_ = {address_};
  for (const auto& other : others) mine_.push_back(htonl(other.value));
}

Access IPGWOptions::access(Processor) const {
  return {.reads = {{Base::l3, 0, 60}},
          .writes = {{Base::l3, 10, 12}, {Base::l3, 20, 60}},
          .column_reads = columns(Column::l3, Column::icmp_param),
          .column_writes = columns(Column::icmp_param)};
}

std::span<const char* const> IPGWOptions::drop_reasons() const {
  static constexpr const char* kReasons[] = {"bad_option", "no_header"};
  return kReasons;
}

uint32_t IPGWOptions::record_route(uint8_t* header, uint32_t at, uint32_t size, bool& changed) const {
  if (size < 3) return at + 1;
  const uint32_t pointer = header[at + 2];
  if (pointer < 4 || pointer % 4 != 0) return at + 2;
  if (pointer > size) return 0;  // full
  if (pointer + 3 > size) return at + 2;
  store_u32(header + at + pointer - 1, address_);
  header[at + 2] = static_cast<uint8_t>(pointer + 4);
  changed = true;
  return 0;
}

uint32_t IPGWOptions::record_time(uint8_t* header, uint32_t at, uint32_t size, bool& changed) const {
  if (size < 4) return at + 1;
  const uint32_t pointer = header[at + 2], flag = header[at + 3] & 15;
  if (pointer < 5 || (pointer - 5) % (flag == 0 ? 4 : 8) != 0) return at + 2;
  if (flag != 0 && flag != 1 && flag != 3) return at + 3;
  const uint32_t entry = flag == 0 ? 4 : 8;
  if (pointer > size) {  // full: one more router could not
    if (header[at + 3] >> 4 == 15) return at + 3;
    header[at + 3] = static_cast<uint8_t>(header[at + 3] + 16);
    changed = true;
    return 0;
  }
  if (pointer - 1 + entry > size) return at + 2;
  uint8_t* place = header + at + pointer - 1;
  if (flag == 3) {  // only if the next address that it names is one of ours
    const uint32_t named = load_u32(place);
    if (std::find(mine_.begin(), mine_.end(), named) == mine_.end()) return 0;
  } else if (flag == 1) {
    store_u32(place, address_);
  }
  store_u32(place + entry - 4, time_of_day());
  header[at + 2] = static_cast<uint8_t>(pointer + entry);
  changed = true;
  return 0;
}

uint32_t IPGWOptions::work(uint8_t* header, uint32_t bytes, bool& changed) const {
  for (uint32_t at = 20; at < bytes;) {
    const uint8_t option = header[at];
    if (option == kEnd) return 0;
    if (option == kNoOperation) {
      ++at;
      continue;
    }
    if (at + 1 >= bytes) return at;
    const uint32_t size = header[at + 1];
    if (size < 2 || at + size > bytes) return at + 1;
    uint32_t wrong = 0;
    if (option == kRecordRoute) wrong = record_route(header, at, size, changed);
    if (option == kTimestamp) wrong = record_time(header, at, size, changed);
    if (wrong != 0) return wrong;
    at += size;
  }
  return 0;
}

void IPGWOptions::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  Packet* const* const packets = batch.packets();
  const int n = batch.size();
  uint64_t bad = 0;
  for (int i = 0; i < n; ++i) {
    if (has_bytes_from(packets[i], l3[i], 20) && (marked_header(packets[i], l3[i])[0] & 15) == 5) [[likely]]
      continue;
    const Ip4Header ip = ip4_header(packets[i], l3[i]);
    if (!ip) {
      batch.drop(i, kNoHeader);
      continue;
    }
    uint8_t header[60];  // a bad packet stays as it came
    std::memcpy(header, ip.at, ip.bytes);
    bool changed = false;
    if (const uint32_t wrong = work(header, ip.bytes, changed); wrong != 0) {
      batch.column(Column::icmp_param)[i] = wrong;
      ++bad;
      if (outputs > 1)
        batch.next()[i] = 1;
      else
        batch.drop(i, kBadOption);
    } else if (changed) {
      set_ip4_header_checksum(header, ip.bytes);
      std::memcpy(ip.at, header, ip.bytes);
    }
  }
  if (bad != 0) bad_[batch.thread].add(bad, 0);
}

void IPGWOptions::handlers(Handlers& list) {
  list.read("drops", [this] { return std::to_string(bad_.packets()); });
}

HEDDLE_ELEMENT(IPGWOptions);

}  // namespace heddle
