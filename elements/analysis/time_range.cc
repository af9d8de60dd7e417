#include "elements/analysis/time_range.h"

#include "click/arguments.h"
#include "core/clock.h"
#include "elements/basic/packet_time.h"

namespace heddle {

void TimeRange::configure(click::Arguments& arguments) { arguments.keyword("SIMPLE", simple_); }

void TimeRange::take_state(Element& old_element) {
  auto& old = static_cast<TimeRange&>(old_element);
  first_ns_ = old.first_ns_.exchange(first_ns_), last_ns_ = old.last_ns_.exchange(last_ns_);
}

void TimeRange::run_cpu(Batch& batch) {
  const uint64_t arrived_ns = RouterClock::wall_ns();
  int64_t first = kNone, last = kNoneYet;
  for (int i = 0; i < batch.size(); ++i) {
    const int64_t ns = time_of(batch.packet(i), arrived_ns);
    if (ns == 0) continue;
    if (!simple_ || first == kNone) first = std::min(first, ns);
    last = simple_ ? ns : std::max(last, ns);
  }
  if (first == kNone) return;
  int64_t earliest = first_ns_.load(std::memory_order_relaxed);
  while ((simple_ ? earliest == kNone : first < earliest) && !first_ns_.compare_exchange_weak(earliest, first)) {
  }
  int64_t latest = last_ns_.load(std::memory_order_relaxed);
  while ((simple_ || last > latest) && !last_ns_.compare_exchange_weak(latest, last)) {
  }
}

int64_t TimeRange::first() const { return first_ns_ == kNone ? 0 : first_ns_.load(); }
int64_t TimeRange::last() const { return last_ns_ == kNoneYet ? 0 : last_ns_.load(); }

void TimeRange::handlers(Handlers& list) {
  list.read("first", [this] { return time_text(first()); })
      .read("last", [this] { return time_text(last()); })
      .read("range", [this] { return time_text(first()) + " " + time_text(last()); })
      .read("interval", [this] { return time_text(last() - first()); })
      .write("reset", [this](const std::string&) { first_ns_ = kNone, last_ns_ = kNoneYet; });
}

HEDDLE_ELEMENT(TimeRange);

}  // namespace heddle
