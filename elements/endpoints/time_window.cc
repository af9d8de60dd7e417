#include "elements/endpoints/time_window.h"

#include <cmath>

#include "click/arguments.h"

namespace heddle {
namespace {

/** TIMING: a truth value, or a speed. */
struct Speed {
  double value = 0;
};
bool parse(std::string_view text, Speed& speed) {
  bool yes = false;
  if (click::parse(text, yes)) {
    speed.value = yes ? 1 : 0;
    return true;
  }
  return click::parse(text, speed.value, 1e-6, 1e9);
}
std::string expectation(Speed) { return "a truth value, or a speed such as 2 or 0.5"; }

}  // namespace

bool parse(std::string_view text, Seconds& value) {
  if (text.ends_with('s') && !text.ends_with("ms") && !text.ends_with("us")) text.remove_suffix(1);
  click::Duration duration;
  if (click::parse(text, duration)) {
    value.ns = duration.microseconds * 1000;
    return true;
  }
  const size_t point = text.find('.');
  uint64_t whole = 0, fraction = 0;
  if (!click::parse(text.substr(0, point), whole, 0, UINT32_MAX)) return false;
  if (point != text.npos) {
    std::string digits(text.substr(point + 1));
    if (digits.empty() || digits.size() > 9) return false;
    digits.resize(9, '0');
    for (const char digit : digits) {
      if (digit < '0' || digit > '9') return false;
      fraction = fraction * 10 + static_cast<uint64_t>(digit - '0');
    }
  }
  value.ns = whole * 1000000000 + fraction;
  return true;
}
std::string expectation(Seconds) { return "a time in seconds such as 1.5"; }

void TimeWindow::configure(click::Arguments& arguments) {
  constexpr uint64_t kNone = UINT64_MAX;
  Seconds start{kNone}, start_after{kNone}, end{kNone}, end_after{kNone}, interval{kNone};
  arguments.keyword("START", start).keyword("START_AFTER", start_after).keyword("END", end);
  arguments.keyword("END_AFTER", end_after).keyword("INTERVAL", interval);
  if (start.ns != kNone && start_after.ns != kNone) arguments.error("give START or START_AFTER, not both");
  if ((end.ns != kNone) + (end_after.ns != kNone) + (interval.ns != kNone) > 1)
    arguments.error("give one of END, END_AFTER and INTERVAL");
  if (start.ns != kNone) start_ns_ = start.ns;
  if (start_after.ns != kNone) start_ns_ = start_after.ns, start_from_ = From::first;
  if (end.ns != kNone) end_ns_ = end.ns;
  if (end_after.ns != kNone) end_ns_ = end_after.ns, end_from_ = From::first;
  if (interval.ns != kNone) end_ns_ = interval.ns, end_from_ = From::started;
  has_end_ = end_ns_ != kNone;
  simple_ = !has_end_ && start_ns_ == 0;
}

TimeWindow::Place TimeWindow::look_up(uint64_t timestamp_ns) {
  if (!begun_) {
    begun_ = true;
    if (start_from_ == From::first) start_ns_ += timestamp_ns;
    if (end_from_ == From::first) end_ns_ += timestamp_ns;
  }
  if (!started_ && timestamp_ns < start_ns_) return Place::before;
  if (!started_) {
    started_ = true;
    if (end_from_ == From::started) end_ns_ += timestamp_ns;
  }
  return has_end_ && timestamp_ns >= end_ns_.load(std::memory_order_relaxed) ? Place::behind : Place::within;
}

void Pace::configure(click::Arguments& arguments) {
  Speed speed;
  arguments.keyword("TIMING", speed);
  speed_ = speed.value;
}

bool Pace::due(uint64_t timestamp_ns) {
  if (speed_ == 0) [[likely]]
    return true;
  if (!begun_.exchange(true)) first_ns_ = timestamp_ns, begin_ = Clock::now();
  const auto since = static_cast<double>(static_cast<int64_t>(timestamp_ns - first_ns_)) / speed_;
  return Clock::reached(begin_ + Clock::seconds(since * 1e-9));
}

}  // namespace heddle
