#include "elements/basic/counter.h"

#include "core/error.h"

namespace heddle {

void Counter::run_cpu(Batch& batch) {
  const int n = batch.size();
  const uint64_t bytes = batch.bytes();
  counts_[batch.thread].add(static_cast<uint64_t>(n), bytes);
  Rates& rates = rates_[static_cast<size_t>(batch.thread)];
  const uint64_t now_ms = rates.clock.now_ms();
  rates.packets.add(static_cast<uint64_t>(n), now_ms);
  rates.bytes.add(bytes, now_ms);
}

double Counter::rate(Rate Rates::*which) const {
  const uint64_t now_ms = heddle::now_ms();
  double sum = 0;
  for (auto& rates : rates_) sum += (rates.*which).per_second(now_ms);
  return sum;
}

void Counter::handlers(Handlers& list) {
  const auto reset = [this](const std::string&) { counts_.reset(); };
  list.read("count", [this] { return std::to_string(packets()); })
      .read("byte_count", [this] { return std::to_string(bytes()); })
      .read("rate", [this] { return format("%.10g", rate(&Rates::packets)); })
      .read("bit_rate", [this] { return format("%.10g", 8 * rate(&Rates::bytes)); })
      .read("byte_rate", [this] { return format("%.10g", rate(&Rates::bytes)); })
      .write("reset", reset)
      .write("reset_counts", reset);
}

std::vector<std::pair<std::string, uint64_t>> Counter::statistics() const {
  return {{"count", packets()}, {"byte_count", bytes()}};
}

HEDDLE_ELEMENT(Counter);
HEDDLE_ELEMENT_NAMED(Counter, CounterMP);
HEDDLE_ELEMENT_NAMED(Counter, CounterAtomic);

}  // namespace heddle
