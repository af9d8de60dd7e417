#include "elements/ip/set_ip_checksum.h"

#include "core/checksum.h"
#include "elements/ip/marked_header.h"

namespace heddle {

Access SetIPChecksum::access(Processor) const {
  return {.reads = {{Base::l3, 0, 60}}, .writes = {{Base::l3, 10, 12}}, .column_reads = columns(Column::l3)};
}

std::span<const char* const> SetIPChecksum::drop_reasons() const {
  static constexpr const char* kReasons[] = {"bad_header"};
  return kReasons;
}

void SetIPChecksum::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  uint64_t dropped = 0;
  for (int i = 0; i < batch.size(); ++i) {
    const uint32_t room = bytes_from(batch.packet(i), l3[i]);
    uint8_t* header = marked_header(batch.packet(i), l3[i]);
    const uint32_t header_bytes = room < 20 ? 0 : (header[0] & 15u) * 4;
    if (header_bytes < 20 || header_bytes > room) {
      batch.drop(i, 0);
      ++dropped;
    } else {
      store_u16(header + 10, 0);
      store_u16(header + 10, ip4_checksum(header, header_bytes));
    }
  }
  if (dropped != 0) dropped_[batch.thread].add(dropped, 0);
}

void SetIPChecksum::handlers(Handlers& list) {
  list.read("drops", [this] { return std::to_string(dropped_.packets()); });
}

HEDDLE_ELEMENT(SetIPChecksum);

}  // namespace heddle
