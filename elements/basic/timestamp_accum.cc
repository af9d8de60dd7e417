#include "elements/basic/timestamp_accum.h"

#include "core/clock.h"
#include "elements/basic/packet_time.h"

namespace heddle {

void TimestampAccum::take_state(Element& old_element) {
  auto& old = static_cast<TimestampAccum&>(old_element);
  count_ = old.count_.exchange(count_), time_ns_ = old.time_ns_.exchange(time_ns_);
}

void TimestampAccum::run_cpu(Batch& batch) {
  const uint64_t now_ns = RouterClock::wall_ns();
  uint64_t sum_ns = 0;  // unsigned, for time stamps may be any
  for (int i = 0; i < batch.size(); ++i) sum_ns += now_ns - static_cast<uint64_t>(time_of(batch.packet(i), now_ns));
  count_.fetch_add(static_cast<uint64_t>(batch.size()), std::memory_order_relaxed);
  time_ns_.fetch_add(static_cast<int64_t>(sum_ns), std::memory_order_relaxed);
}

void TimestampAccum::handlers(Handlers& list) {
  list.read("count", [this] { return std::to_string(count_.load()); })
      .read("time", [this] { return time_text(time_ns_); })
      .read("average_time",
            [this] {
              const uint64_t count = count_;
              return time_text(count == 0 ? 0 : time_ns_ / static_cast<int64_t>(count));
            })
      .write("reset_counts", [this](const std::string&) { count_ = 0, time_ns_ = 0; });
}

HEDDLE_ELEMENT(TimestampAccum);

}  // namespace heddle
