#include "elements/ip/mark_ip_header.h"

#include <algorithm>

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
    const uint32_t header_bytes = std::min((batch.frame(i)[offset] & 15u) * 4, bytes - offset);
    l3[i] = batch.packet(i)->data_off + offset;
    l4[i] = l3[i] + header_bytes;
  }
}

void MarkMACHeader::configure(click::Arguments& arguments) {
  arguments.optional("OFFSET", offset_, 0u, 16384u).optional("LENGTH", bytes_, 0u, 16384u);
}

Access MarkMACHeader::access(Processor) const { return {.column_writes = bytes_ > 0 ? columns(Column::l3) : 0}; }

std::span<const char* const> MarkMACHeader::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short"};
  return kReasons;
}

void MarkMACHeader::run_cpu(Batch& batch) {
  uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i) {
    if (batch.length(i) < offset_ + bytes_)
      batch.drop(i, 0);
    else if (bytes_ > 0)
      l3[i] = batch.packet(i)->data_off + offset_ + bytes_;
  }
}

HEDDLE_ELEMENT(MarkIPHeader);
HEDDLE_ELEMENT(MarkMACHeader);

}  // namespace heddle
