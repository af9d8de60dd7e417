#include "elements/basic/counter.h"

#include "core/error.h"

namespace heddle {

void Counter::configure(click::Arguments& arguments) {
  count_call_.configure(arguments, "COUNT_CALL");
  byte_count_call_.configure(arguments, "BYTE_COUNT_CALL");
}

void Counter::start(const Environment& environment) {
  calls_ = count_call_.given() || byte_count_call_.given();
  if (on_gpu && calls_)
    throw Error("COUNT_CALL: it runs on a GPU, where nothing is called; give the function beside it DEVICE cpu");
  count_call_.start(environment.control, name);
  byte_count_call_.start(environment.control, name);
}

std::string Counter::stop() {
  const std::string problem = count_call_.finish(), other = byte_count_call_.finish();
  return problem.empty() ? other : problem;
}

std::pair<uint64_t, uint64_t> Counter::engine_counts_since_reset() const {
  const auto [packets, bytes] = engine_counts();
  return {packets - packets_before_, bytes - bytes_before_};
}

void Counter::reset() {
  former_packets_ = former_bytes_ = 0;
  counts_.reset();
  if (engine_counts) {
    const auto [packets, bytes] = engine_counts();
    packets_before_ = packets, bytes_before_ = bytes;
  }
  count_call_.arm(), byte_count_call_.arm();
}

void Counter::take_state(Element& old_element) {
  auto& old = static_cast<Counter&>(old_element);
  count_call_.go_on(old.count_call_), byte_count_call_.go_on(old.byte_count_call_);
  former_packets_ += old.packets(), former_bytes_ += old.bytes();
  old.former_packets_ -= old.packets(), old.former_bytes_ -= old.bytes();  // so that it is 0 there
}

void Counter::look_at_calls() {
  count_call_.look_at(packets());
  byte_count_call_.look_at(bytes());
}

void Counter::run_cpu(Batch& batch) {
  const int n = batch.size();
  const uint64_t bytes = batch.bytes();
  counts_[batch.thread].add(static_cast<uint64_t>(n), bytes);
  Rates& rates = rates_[static_cast<size_t>(batch.thread)];
  const uint64_t now_ms = rates.clock.now_ms();
  rates.packets.add(static_cast<uint64_t>(n), now_ms);
  rates.bytes.add(bytes, now_ms);
  if (calls_.load(std::memory_order_relaxed)) [[unlikely]] {
    counts_.publish(batch.thread);
    look_at_calls();
  }
}

double Counter::rate(Rate Rates::*which) const {
  const uint64_t now_ms = heddle::now_ms();
  double sum = 0;
  for (auto& rates : rates_) sum += (rates.*which).per_second(now_ms);
  return sum;
}

void Counter::handlers(Handlers& list) {
  const auto reset = [this](const std::string&) { this->reset(); };
  const auto set = [this](CountCall& call) {
    return [this, &call](const std::string& value) {
      if (on_gpu) throw Error("it runs on a GPU, where nothing is called; give the function beside it DEVICE cpu");
      call.set(value);
      calls_ = true;
    };
  };
  list.read("count", [this] { return std::to_string(packets()); })
      .read("byte_count", [this] { return std::to_string(bytes()); })
      .read("rate", [this] { return format("%.10g", rate(&Rates::packets)); })
      .read("bit_rate", [this] { return format("%.10g", 8 * rate(&Rates::bytes)); })
      .read("byte_rate", [this] { return format("%.10g", rate(&Rates::bytes)); })
      .write("reset", reset)
      .write("reset_counts", reset)
      .read("count_call", [this] { return std::to_string(count_call_.number()); })
      .write("count_call", set(count_call_))
      .write("byte_count_call", set(byte_count_call_));
}

std::vector<std::pair<std::string, uint64_t>> Counter::statistics() const {
  return {{"count", packets()}, {"byte_count", bytes()}};
}

HEDDLE_ELEMENT(Counter);
HEDDLE_ELEMENT_NAMED(Counter, CounterMP);
HEDDLE_ELEMENT_NAMED(Counter, CounterAtomic);

}  // namespace heddle
