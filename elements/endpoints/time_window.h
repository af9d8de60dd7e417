#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/clock.h"

namespace heddle {

namespace click {
class Arguments;
}

/** Which packets of a capture are taken, by time stamp: START, START_AFTER, END, END_AFTER and INTERVAL. */
class TimeWindow {
 public:
  enum class Place { before, within, behind };

  void configure(click::Arguments& arguments);
  /** Where a packet lies; the first one that it is asked for begins the file. */
  Place place(uint64_t timestamp_ns) {
    if (simple_) [[likely]]
      return Place::within;
    return look_up(timestamp_ns);
  }
  /** Moves the end. From a control thread. */
  void extend(uint64_t more_ns) { end_ns_.fetch_add(more_ns); }

 private:
  Place look_up(uint64_t timestamp_ns);

  enum class From { epoch, first, started };
  bool simple_ = true, has_end_ = false, begun_ = false, started_ = false;
  From start_from_ = From::epoch, end_from_ = From::epoch;
  uint64_t start_ns_ = 0;
  std::atomic<uint64_t> end_ns_{UINT64_MAX};  // relative to end_from_ until that is known
};

/** When packets of a capture are due: TIMING. */
class Pace {
 public:
  void configure(click::Arguments& arguments);
  bool due(uint64_t timestamp_ns);
  /** The next packet is due at once. From any thread. */
  void reset() { begun_ = false; }

 private:
  using Clock = RouterClock;
  double speed_ = 0;  // 0: all are due
  std::atomic<bool> begun_{false};
  uint64_t first_ns_ = 0;
  Clock::time_point begin_{};
};

/** A number of seconds with up to nine digits behind the point, an argument type. */
struct Seconds {
  uint64_t ns = 0;
};
bool parse(std::string_view text, Seconds& value);
std::string expectation(Seconds);

}  // namespace heddle
