#include "click/arguments.h"
#include "functions/echo/echo.h"

namespace heddle {

void Echo::configure(click::Arguments& arguments) {
  arguments.keyword("SEED", table_.value.seed);
  table_.value.ports = static_cast<uint32_t>(outputs);
}

void Echo::run_cpu(Batch& batch) {
  // Threads draw from sequences that lie 2^56 apart.
  uint64_t& packets = counts_[static_cast<size_t>(batch.thread)].packets;
  const uint64_t first = packets + (static_cast<uint64_t>(batch.thread) << 56);
  uint16_t* next = batch.next();
  for (int i = 0; i < batch.size(); ++i)
    next[i] = static_cast<uint16_t>(echo::port_of(table_.value, first + static_cast<uint64_t>(i)));
  packets += static_cast<uint64_t>(batch.size());
}

HEDDLE_ELEMENT(Echo);

}  // namespace heddle
