#include <cstring>

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
    ether_mirror::Addresses addresses;
    std::memcpy(&addresses, batch.frame(i), sizeof addresses);
    addresses = ether_mirror::mirrored(addresses);
    std::memcpy(batch.frame(i), &addresses, sizeof addresses);
  }
}

HEDDLE_ELEMENT(EtherMirror);

}  // namespace heddle
