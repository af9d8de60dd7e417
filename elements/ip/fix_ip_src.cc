#include "elements/ip/fix_ip_src.h"

#include <algorithm>

#include "click/arguments.h"
#include "elements/ip/header.h"

namespace heddle {

void FixIPSrc::configure(click::Arguments& arguments) {
  click::Ipv4Address address;
  arguments.required("IPADDR", address);
  address_ = htonl(address.value);
}

Access FixIPSrc::access(Processor) const {
  return {.reads = {{Base::l3, 0, 20}},
          .writes = {{Base::l3, 10, 16}},
          .column_reads = columns(Column::l3, Column::fix_ip_src),
          .column_writes = columns(Column::fix_ip_src)};
}

std::span<const char* const> FixIPSrc::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_header"};
  return kReasons;
}

void FixIPSrc::run_cpu(Batch& batch) {
  uint32_t* wanted = batch.column(Column::fix_ip_src);
  const uint32_t* l3 = batch.column(Column::l3);
  const int n = batch.size();
  if (std::count(wanted, wanted + n, 0u) == n) return;  // as nearly always
  for (int i = 0; i < n; ++i) {
    if (wanted[i] == 0) continue;
    wanted[i] = 0;
    if (!has_bytes_from(batch.packet(i), l3[i], 20)) {
      batch.drop(i, 0);
      continue;
    }
    uint8_t* header = marked_header(batch.packet(i), l3[i]);
    rewrite_u32(header + 12, address_, header + 10);
  }
}

HEDDLE_ELEMENT(FixIPSrc);

}  // namespace heddle
