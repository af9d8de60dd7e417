#include <cstring>

#include "core/load.h"
#include "functions/ether_mirror/ether_mirror.h"
#include "functions/ether_mirror/rule.h"

namespace heddle {

std::span<const char* const> EtherMirror::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short"};
  return kReasons;
}

void EtherMirror::run_cpu(Batch& batch) {
  Packet* const* packets = batch.packets();  // the stores below might change anything in memory, but not these
  const int n = batch.size();
  for (int i = 0; i < n; ++i) {
    if (length(packets[i]) < ether_mirror::kMinBytes) [[unlikely]] {
      batch.drop(i, ether_mirror::kShort);
      continue;
    }
    uint8_t* frame = data(packets[i]);
    const ether_mirror::Addresses swapped = ether_mirror::mirrored({load_u64(frame), load_u64(frame + 4)});
    std::memcpy(frame, &swapped.from_0, 8);
    std::memcpy(frame + 4, &swapped.from_4, 8);
  }
}

HEDDLE_ELEMENT(EtherMirror);

}  // namespace heddle
