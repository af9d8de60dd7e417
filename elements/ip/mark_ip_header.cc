#include "elements/ip/mark_ip_header.h"

#include "click/arguments.h"

namespace heddle {

void MarkIPHeader::configure(click::Arguments& arguments) { arguments.optional("OFFSET", offset_, 0, 16384); }

Access MarkIPHeader::access(Processor) const {
  return {.reads = {{Base::head, offset_, offset_ + 1}}, .column_writes = columns(Column::l3, Column::l4)};
}

std::span<const char* const> MarkIPHeader::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short"};
  return kReasons;
}

void MarkIPHeader::run_cpu(Batch& batch) {
  uint32_t* l3 = batch.column(Column::l3);
  uint32_t* l4 = batch.column(Column::l4);
  const auto offset = static_cast<uint32_t>(offset_);
  for (int i = 0; i < batch.size(); ++i) {
    const uint32_t bytes = batch.length(i);
    l3[i] = l4[i] = 0;
    if (bytes < offset + 20) {
      batch.drop(i, 0);
      continue;
    }
    const uint32_t header_bytes = (batch.frame(i)[offset] & 15u) * 4;
    if (bytes < offset + header_bytes) {
      batch.drop(i, 0);
      continue;
    }
    l3[i] = batch.packet(i)->data_off + offset;
    l4[i] = l3[i] + header_bytes;
  }
}

HEDDLE_ELEMENT(MarkIPHeader);

}  // namespace heddle
