#include "elements/basic/cpu_switch.h"

#include <algorithm>

namespace heddle {

void CPUSwitch::run_cpu(Batch& batch) {
  std::fill_n(batch.next(), batch.size(), static_cast<uint16_t>(batch.thread % outputs));
}

HEDDLE_ELEMENT(CPUSwitch);

}  // namespace heddle
