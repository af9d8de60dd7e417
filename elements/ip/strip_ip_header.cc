#include "elements/ip/strip_ip_header.h"

#include "elements/ip/header.h"

namespace heddle {

Access StripIPHeader::access(Processor) const {
  return {.reads = {{Base::l3, 0, 1}}, .column_reads = columns(Column::l3)};
}

std::span<const char* const> StripIPHeader::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_header"};
  return kReasons;
}

void StripIPHeader::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    if (const Ip4Header header = ip4_header(packet, l3[i])) {
      move_head(packet, static_cast<int>(header.behind() - data(packet)));
    } else {
      batch.drop(i, 0);
    }
  }
}

HEDDLE_ELEMENT(StripIPHeader);

}  // namespace heddle
