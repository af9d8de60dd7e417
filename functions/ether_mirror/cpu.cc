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
  for (int i = 0; i < batch.size(); ++i) {
    if (batch.length(i) < ether_mirror::kLeastBytes) {
      batch.drop(i, ether_mirror::kShort);
      continue;
    }
    uint8_t* frame = batch.frame(i);
    const ether_mirror::Addresses swapped = ether_mirror::mirrored({load_u64(frame), load_u32(frame + 8)});
    std::memcpy(frame, &swapped.first_eight, 8);
    std::memcpy(frame + 8, &swapped.last_four, 4);
  }
}

HEDDLE_ELEMENT(EtherMirror);

}  // namespace heddle
