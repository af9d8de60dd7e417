#include "elements/ip/ip_mirror.h"

#include <algorithm>

#include "elements/ip/transport.h"

namespace heddle {
namespace {

/** The bytes [at, at + n) and those behind them change places. */
void swap_halves(uint8_t* at, int n) { std::swap_ranges(at, at + n, at + n); }

}  // namespace

Access IPMirror::access(Processor) const {
  // Behind the longest header: ports, sequence number and acknowledgement.
  return {.reads = {{Base::l3, 0, 72}}, .writes = {{Base::l3, 12, 72}}, .column_reads = columns(Column::l3)};
}

std::span<const char* const> IPMirror::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_header"};
  return kReasons;
}

void IPMirror::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i) {
    const Ip4Header ip = ip4_header(batch.packet(i), l3[i]);
    if (!ip) {
      batch.drop(i, 0);
      continue;
    }
    swap_halves(ip.at + 12, 4);
    const bool tcp = ip.at[9] == kTcp;
    if ((!tcp && ip.at[9] != kUdp) || !ip.first_fragment() || ip.payload() < 8) continue;
    swap_halves(ip.behind(), 2);
    if (tcp && ip.payload() >= 12) swap_halves(ip.behind() + 4, 4);
  }
}

HEDDLE_ELEMENT(IPMirror);

}  // namespace heddle
