#include "elements/basic/unstrip.h"

#include "click/arguments.h"

namespace heddle {

void Unstrip::configure(click::Arguments& arguments) { arguments.required("LENGTH", bytes_, 0, RTE_PKTMBUF_HEADROOM); }

std::span<const char* const> Unstrip::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_headroom"};
  return kReasons;
}

void Unstrip::run_cpu(Batch& batch) {
  for (int i = 0; i < batch.size(); ++i) {
    if (batch.packet(i)->data_off < bytes_)
      batch.drop(i, 0);
    else
      move_head(batch.packet(i), -bytes_);
  }
}

HEDDLE_ELEMENT(Unstrip);

}  // namespace heddle
