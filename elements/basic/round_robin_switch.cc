#include "elements/basic/round_robin_switch.h"

namespace heddle {

void RoundRobinSwitch::run_cpu(Batch& batch) {
  int& turn = turn_[static_cast<size_t>(batch.thread)].output;
  int output = turn;
  uint16_t* next = batch.next();
  for (int i = 0; i < batch.size(); ++i) {
    next[i] = static_cast<uint16_t>(output);
    if (++output == outputs) output = 0;
  }
  turn = output;
}

HEDDLE_ELEMENT(RoundRobinSwitch);

}  // namespace heddle
