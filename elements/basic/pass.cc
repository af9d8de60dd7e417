#include "elements/basic/pass.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "click/arguments.h"
#include "click/quoting.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/warnings.h"
#include "elements/basic/packet_time.h"
#include "elements/endpoints/time_window.h"

namespace heddle {

void Align::configure(click::Arguments& arguments) {
  uint32_t modulus = 4, offset = 0;
  arguments.required("MODULUS", modulus, 1u, 4096u).required("OFFSET", offset, 0u, 4095u);
  if (offset >= modulus) arguments.error("OFFSET is not below MODULUS");
}

void ClickyInfo::configure(click::Arguments& arguments) {
  for (const click::Argument& argument : arguments.rest_with_keywords())
    if (!argument.text.starts_with("STYLE ")) arguments.error(argument, "STYLE and a style sheet");
}

void AlignmentInfo::configure(click::Arguments& arguments) {
  for (const click::Argument& argument : arguments.rest_with_keywords()) {
    const auto words = click::split_words(argument.text);
    uint32_t number = 0;
    bool right = words.size() % 2 == 1;
    for (size_t i = 1; i < words.size(); ++i) right = right && click::parse(words[i], number);
    if (!right) arguments.error(argument, "ELEMENT MODULUS OFFSET");
  }
}

void SetTimestamp::configure(click::Arguments& arguments) {
  double seconds = -1;
  bool first = false, delta = false;
  arguments.optional("TIMESTAMP", seconds, 0.0, 1e10).keyword("FIRST", first).keyword("DELTA", delta);
  if (first || delta)
    arguments.error(
        "FIRST and DELTA are about a second time stamp, which packets have not; SetTimestampDelta makes "
        "differences");
  now_ = seconds < 0;
  if (!now_) time_ns_ = static_cast<uint64_t>(seconds * 1e9 + 0.5);
}

void SetTimestamp::run_cpu(Batch& batch) {
  const uint64_t time_ns = now_ ? RouterClock::wall_ns() : time_ns_;
  for (int i = 0; i < batch.size(); ++i) set_time(batch.packet(i), time_ns);
}

namespace {

/** Seconds that may be less than none. */
struct TimeShift {
  int64_t ns = 0;
};
bool parse(std::string_view text, TimeShift& shift) {
  const bool back = text.starts_with('-');
  if (back || text.starts_with('+')) text.remove_prefix(1);
  Seconds seconds;
  if (!parse(text, seconds) || seconds.ns > INT64_MAX / 2) return false;
  shift.ns = back ? -static_cast<int64_t>(seconds.ns) : static_cast<int64_t>(seconds.ns);
  return true;
}
std::string expectation(TimeShift) { return "a time in seconds such as 1.5 or -0.25"; }

std::string seconds_text(int64_t ns) {
  const uint64_t size = ns < 0 ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  return format("%s%ju.%09ju", ns < 0 ? "-" : "", uintmax_t{size / 1'000'000'000}, uintmax_t{size % 1'000'000'000});
}

}  // namespace

void AdjustTimestamp::configure(click::Arguments& arguments) {
  TimeShift shift;
  arguments.required("TIME", shift).keyword("ALL", all_);
  later_ns_ = shift.ns;
}

void AdjustTimestamp::run_cpu(Batch& batch) {
  const int64_t later_ns = later_ns_.load(std::memory_order_relaxed);
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    const uint64_t stamp = has_capture_info(packet) ? capture_info(packet).timestamp_ns : 0;
    if (stamp == 0 && !all_) continue;
    const auto time_ns = std::clamp(static_cast<int64_t>(stamp), INT64_MIN / 2, INT64_MAX / 2);
    set_time(packet, static_cast<uint64_t>(time_ns + later_ns));
  }
}

void AdjustTimestamp::handlers(Handlers& list) {
  list.read("time", [this] { return seconds_text(later_ns_); }).write("time", [this](const std::string& value) {
    later_ns_ = click::value_of<TimeShift>(value).ns;
  });
}

void SetTimestampDelta::configure(click::Arguments& arguments) {
  std::string type = "RANGE";
  arguments.keyword("TYPE", type);
  if (type != "RANGE" && type != "NOW") arguments.error("TYPE", "RANGE or NOW");
  until_now_ = type == "NOW";
}

void SetTimestampDelta::run_cpu(Batch& batch) {
  const int64_t now_ns = until_now_ ? static_cast<int64_t>(RouterClock::wall_ns()) : 0;
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    if (!has_capture_info(packet) || capture_info(packet).timestamp_ns == 0) continue;
    int64_t from = static_cast<int64_t>(capture_info(packet).timestamp_ns), to = now_ns;
    if (!until_now_) {
      to = std::exchange(from, 0);
      if (first_ns_.compare_exchange_strong(from, to)) from = to;
    }
    set_time(packet, static_cast<uint64_t>(to) - static_cast<uint64_t>(std::min(from, to)));
  }
}

void SetTimestampDelta::handlers(Handlers& list) {
  list.read("first",
            [this] {
              const int64_t ns = first_ns_;
              return ns == 0 ? "" : seconds_text(ns);
            })
      .write("reset", [this](const std::string&) { first_ns_ = 0; });
}

void Message::configure(click::Arguments& arguments) {
  arguments.required("MESSAGE", message_).optional("TYPE", type_);
  if (type_ != "MESSAGE" && type_ != "WARNING" && type_ != "ERROR")
    arguments.error("TYPE", "MESSAGE, WARNING or ERROR");
}

void Message::start(const Environment&) {
  if (type_ == "ERROR") throw Error(message_);
  if (type_ == "WARNING") return warn("warning: " + message_);
  std::fprintf(stderr, "%s\n", message_.c_str());
}

HEDDLE_ELEMENT(Align);
HEDDLE_ELEMENT(EnsureDPDKBuffer);
HEDDLE_ELEMENT(AlignmentInfo);
HEDDLE_ELEMENT(ClickyInfo);
HEDDLE_ELEMENT(PushNull);
HEDDLE_ELEMENT(PullNull);
HEDDLE_ELEMENT(SetTimestamp);
HEDDLE_ELEMENT(AdjustTimestamp);
HEDDLE_ELEMENT(SetTimestampDelta);
HEDDLE_ELEMENT(Message);

}  // namespace heddle
