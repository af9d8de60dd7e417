#include "elements/basic/average_counter.h"

#include <algorithm>
#include <limits>

#include "click/arguments.h"
#include "elements/basic/rate.h"

namespace heddle {

void AverageCounter::configure(click::Arguments& arguments) {
  constexpr double kYears = 1e9;
  double ignore_s = 0;
  uint64_t max_s = 0;
  arguments.optional("IGNORE", ignore_s, 0.0, kYears).optional("LINK_FCS", link_fcs_);
  arguments.keyword("MAX", max_s, uint64_t{0}, static_cast<uint64_t>(kYears));
  ignore_ms_ = static_cast<uint64_t>(ignore_s * 1000);
  max_ms_ = max_s == 0 ? std::numeric_limits<uint64_t>::max() : max_s * 1000;
}

void AverageCounter::run_cpu(Batch& batch) {
  const uint64_t now_ms = last_[static_cast<size_t>(batch.thread)].clock.now_ms();
  uint64_t first_ms = first_ms_.load(std::memory_order_relaxed);
  if (first_ms == 0 && first_ms_.compare_exchange_strong(first_ms, now_ms)) first_ms = now_ms;
  const uint64_t since_ms = now_ms - std::min(now_ms, first_ms);
  if (since_ms >= max_ms_) return;
  last_[static_cast<size_t>(batch.thread)].ms.store(now_ms, std::memory_order_relaxed);
  if (since_ms < ignore_ms_) return;
  counts_[batch.thread].add(static_cast<uint64_t>(batch.size()), batch.bytes());
}

double AverageCounter::seconds() const {
  uint64_t last_ms = 0;
  for (auto& last : last_) last_ms = std::max(last_ms, last.ms.load(std::memory_order_relaxed));
  const uint64_t first_ms = first_ms_.load(std::memory_order_relaxed);
  const uint64_t from_ms = first_ms == 0 ? last_ms : first_ms + ignore_ms_;  // 0: no packet since it was reset
  return 0.001 * static_cast<double>(last_ms > from_ms ? last_ms - from_ms : 1);
}

void AverageCounter::handlers(Handlers& list) {
  const auto rate = [this](uint64_t count) { return format("%.12g", static_cast<double>(count) / seconds()); };
  const auto time = [this] { return format("%.12g", seconds()); };
  list.read("count", [this] { return std::to_string(counts_.packets()); })
      .read("byte_count", [this] { return std::to_string(counts_.bytes()); })
      .read("bit_count", [this] { return std::to_string(8 * counts_.bytes()); })
      .read("link_count", [this] { return std::to_string(bits_on_wire()); })
      .read("rate", [this, rate] { return rate(counts_.packets()); })
      .read("byte_rate", [this, rate] { return rate(counts_.bytes()); })
      .read("bit_rate", [this, rate] { return rate(8 * counts_.bytes()); })
      .read("link_rate", [this, rate] { return rate(bits_on_wire()); })
      .read("time", time)
      .read("average_time", time)
      .write("reset", [this](const std::string&) {
        counts_.reset();
        for (auto& last : last_) last.ms = 0;
        first_ms_ = 0;
      });
}

std::vector<std::pair<std::string, uint64_t>> AverageCounter::statistics() const {
  return {{"count", counts_.packets()}, {"byte_count", counts_.bytes()}};
}

HEDDLE_ELEMENT(AverageCounter);
HEDDLE_ELEMENT_NAMED(AverageCounter, AverageCounterMP);
HEDDLE_ELEMENT_NAMED(AverageCounter, AverageCounterIMP);

}  // namespace heddle
