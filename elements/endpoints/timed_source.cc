#include "elements/endpoints/timed_source.h"

#include "click/arguments.h"

namespace heddle {

void TimedSource::configure(click::Arguments& arguments) {
  std::string data = kDefaultData;
  int64_t limit = limit_, bytes = -1;
  bool active = active_;
  click::Duration interval{interval_us_};
  arguments.optional("INTERVAL", interval).optional("DATA", data).optional("LIMIT", limit).optional("ACTIVE", active);
  arguments.keyword("LENGTH", bytes, -1, int64_t{kMaxPacketBytes});
  configure_end(arguments);
  limit_ = limit, active_ = active, interval_us_ = interval.microseconds;
  set_data(data, bytes);
}

void TimedSource::start(const Environment& environment) {
  RepeatedPacket::start(environment);
  next_ = {};
}

void TimedSource::receive(Batch& batch) {
  const auto interval = std::chrono::microseconds(interval_us_.load(std::memory_order_relaxed));
  if (next_ == Clock::time_point{}) next_ = Clock::now() + interval;  // counts from when packets flow, not from start()
  if (!Clock::reached(next_)) return;
  append_copies(batch, allowed(1), true);
  next_ = Clock::now() + interval;  // it does not catch up
}

void TimedSource::handlers(Handlers& list) {
  RepeatedPacket::handlers(list);
  list.read("interval", [this] { return format("%.15g", static_cast<double>(interval_us_) / 1e6); })
      .write("interval",
             [this](const std::string& text) { interval_us_ = click::value_of<click::Duration>(text).microseconds; });
}

HEDDLE_ELEMENT(TimedSource);

}  // namespace heddle
