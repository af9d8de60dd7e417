#include "elements/basic/store_timestamp.h"

#include "click/arguments.h"
#include "core/clock.h"
#include "elements/basic/packet_time.h"

namespace heddle {

void StoreTimestamp::configure(click::Arguments& arguments) {
  bool tail = false;
  arguments.optional("OFFSET", offset_, 0, 16384).keyword("TAIL", tail);
  if ((offset_ >= 0) == tail) arguments.error("give OFFSET or TAIL true, and not both");
}

std::span<const char* const> StoreTimestamp::drop_reasons() const {
  static constexpr const char* kReasons[] = {"too_long"};
  return kReasons;
}

void StoreTimestamp::run_cpu(Batch& batch) {
  const uint64_t now_ns = RouterClock::wall_ns();
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    const uint32_t bytes = length(packet), at = offset_ < 0 ? bytes : static_cast<uint32_t>(offset_), end = at + 8;
    if (end > kMaxPacketBytes) {
      batch.drop(i, 0);
      continue;
    }
    if (end > bytes) {
      std::memset(data(packet) + bytes, 0, end - bytes);
      move_tail(packet, static_cast<int>(end - bytes));
    }
    const auto time_ns = static_cast<uint64_t>(time_of(packet, now_ns));
    for (uint32_t k = 0; k < 8; ++k) data(packet)[at + k] = static_cast<uint8_t>(time_ns >> 8 * k);
  }
}

HEDDLE_ELEMENT(StoreTimestamp);

}  // namespace heddle
