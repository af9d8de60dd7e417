#include "elements/ip6/mark_ip6_header.h"

#include "click/arguments.h"
#include "elements/ip6/header.h"

namespace heddle {

void MarkIP6Header::configure(click::Arguments& arguments) { arguments.optional("OFFSET", offset_, 0, 16384); }

std::span<const char* const> MarkIP6Header::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short"};
  return kReasons;
}

void MarkIP6Header::run_cpu(Batch& batch) {
  uint32_t *l3 = batch.column(Column::l3), *l4 = batch.column(Column::l4);
  const auto offset = static_cast<uint32_t>(offset_);
  for (int i = 0; i < batch.size(); ++i) {
    if (batch.length(i) < offset + kIp6HeaderBytes) {
      l3[i] = l4[i] = 0;
      batch.drop(i, 0);
      continue;
    }
    l3[i] = batch.packet(i)->data_off + offset;
    l4[i] = l3[i] + kIp6HeaderBytes;
  }
}

HEDDLE_ELEMENT(MarkIP6Header);

}  // namespace heddle
