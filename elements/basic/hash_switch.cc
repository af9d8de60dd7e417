#include "elements/basic/hash_switch.h"

#include <numeric>

#include "click/arguments.h"

namespace heddle {

void HashSwitch::configure(click::Arguments& arguments) {
  arguments.required("OFFSET", offset_, 0, 16384).required("LENGTH", length_, 1, 16384);
}

Access HashSwitch::access(Processor) const { return {.reads = {{Base::head, offset_, offset_ + length_}}}; }

void HashSwitch::run_cpu(Batch& batch) {
  const auto end = static_cast<uint32_t>(offset_ + length_);
  const auto n = static_cast<uint32_t>(outputs);
  const bool by_bits = n == 2 || n == 4 || n == 8;
  for (int i = 0; i < batch.size(); ++i) {
    if (batch.length(i) < end) continue;  // output 0
    const uint8_t* bytes = batch.frame(i) + offset_;
    const uint32_t sum = std::accumulate(bytes, bytes + length_, 0u);
    batch.next()[i] = static_cast<uint16_t>(by_bits ? (sum ^ sum >> 4) & (n - 1) : sum % n);
  }
}

HEDDLE_ELEMENT(HashSwitch);

}  // namespace heddle
