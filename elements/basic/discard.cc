#include "elements/basic/discard.h"

#include <climits>

#include "click/arguments.h"
#include "core/error.h"

namespace heddle {

void Discard::configure(click::Arguments& arguments) {
  bool active = true;
  arguments.keyword("ACTIVE", active).keyword("BURST", burst_, 0);
  active_ = active;
  if (burst_ == 0) burst_ = INT_MAX;
}

int Discard::demand(int) { return active_.load(std::memory_order_relaxed) ? burst_ : -1; }

void Discard::run_cpu(Batch& batch) { batch.free_packets(); }

void Discard::handlers(Handlers& list) {
  list.read("active", [this] { return std::string(active_ ? "true" : "false"); })
      .write("active", [this](const std::string& value) { active_ = click::value_of<bool>(value); });
}

void TimedSink::configure(click::Arguments& arguments) {
  click::Duration interval{interval_us_};
  arguments.optional("INTERVAL", interval);
  interval_us_ = interval.microseconds;
}

void TimedSink::start(const Environment& environment) {
  stopping_ = environment.stopping;
  next_ = RouterClock::now() + std::chrono::microseconds(interval_us_);
}

int TimedSink::demand(int) {
  if (stopping_()) return INT_MAX;
  if (!RouterClock::reached(next_)) return 0;
  next_ = RouterClock::now() + std::chrono::microseconds(interval_us_.load(std::memory_order_relaxed));
  return 1;
}

void TimedSink::run_cpu(Batch& batch) { batch.free_packets(); }

void TimedSink::handlers(Handlers& list) {
  list.read("interval", [this] { return format("%.15g", static_cast<double>(interval_us_) / 1e6); })
      .write("interval",
             [this](const std::string& text) { interval_us_ = click::value_of<click::Duration>(text).microseconds; });
}

HEDDLE_ELEMENT(Discard);
HEDDLE_ELEMENT(TimedSink);

}  // namespace heddle
