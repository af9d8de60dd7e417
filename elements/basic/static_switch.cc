#include "elements/basic/static_switch.h"

#include <algorithm>

#include "click/arguments.h"

namespace heddle {

void StaticSwitch::configure(click::Arguments& arguments) {
  int output = 0;
  arguments.required("OUTPUT", output);
  next_ = output >= 0 && output < outputs ? static_cast<uint16_t>(output) : kDrop;
}

std::span<const char* const> StaticSwitch::drop_reasons() const {
  static constexpr const char* kReasons[] = {"switched_off"};
  return kReasons;
}

void StaticSwitch::run_cpu(Batch& batch) { std::fill_n(batch.next(), batch.size(), next_); }

HEDDLE_ELEMENT(StaticSwitch);

}  // namespace heddle
