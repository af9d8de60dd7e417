#pragma once

#include <atomic>
#include <string>

#include "core/acts_beside.h"
#include "core/element.h"
#include "elements/basic/handler_call.h"

namespace heddle {

/** TimeFilter: lets packets pass whose time stamps lie in a range.
 *
 *      TimeFilter([START, END, keywords START, START_AFTER, START_DELAY, END, END_AFTER, END_DELAY, INTERVAL, STOP,
 *                 END_CALL])
 *
 *  Packets with time stamps from the start on and before the end leave by output 0, others by output 1 or, if that is
 *  not connected, they are dropped ("before", "after"). A packet of a port that has no time stamp is as old as its
 *  arrival.
 *
 *  START, END: seconds since 1970, such as 1.5. START_AFTER, END_AFTER: since the first packet that comes here.
 *  START_DELAY, END_DELAY: since the program has started. INTERVAL: the end, since the start. All as seconds or with a
 *  unit (20ms, 1h). At most one start, which is the first packet's time by default, and one end, by default none.
 *
 *  STOP: whether the program stops when a packet comes that is not before the end, default false. END_CALL "HANDLER
 *  [VALUE]": VALUE is then written to HANDLER; $t in it stands for the packet's time stamp (within '', where it is no
 *  variable of the configuration). It is called once, and again after a handler has moved the end, by a thread beside,
 *  while packets go on; with `--batch 1` the packet and those behind it wait for it, as in Click, and the packet passes
 *  if the end is then behind it. (FromDump has END_CALL as well, and its packets wait.) One of the two.
 *
 *  Handlers: `start`, `end`, `interval` (rw; read: seconds, or nothing when there is none, or the first packet has not
 *  come that it depends on; `interval` written moves the end), `extend_interval` (w): the end comes so much later.
 *
 *  Example, the second minute of a capture:
 *
 *      FromDump(in.pcap) -> TimeFilter(START_AFTER 1m, INTERVAL 1m) -> ToDump(out.pcap);
 */
class TimeFilter : public Element, public ActsBeside {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override { return {}; }
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;
  bool acts() const override { return call_.under_way(); }
  void acted(Batch& batch) override;
  bool keeps_running() const override { return call_.under_way(); }
  std::string stop() override;
  void handlers(Handlers& list) override;

 private:
  class Lock;
  enum class From : uint8_t { known, first_packet, program, start };
  static constexpr int64_t kNever = INT64_MAX;

  /** The first packet, or what is written to `start` before, says when the range is. */
  void begin(int64_t time_ns);
  void reached_end(int64_t time_ns);
  /** Sends the packet, of that time, where it goes; whether it is not before the end. */
  bool judge(Batch& batch, int i, int64_t time_ns);
  void call();
  void set_end(From from, int64_t ns);

  // Nanoseconds, since 1970 once what they begin with is known.
  std::atomic<int64_t> start_ns_{0}, end_ns_{kNever};
  From start_from_ = From::first_packet, end_from_ = From::known;  // within a Lock
  std::atomic<bool> begun_{false}, armed_{true};  // armed_: the end has not been reached since it was set
  std::atomic_flag busy_;
  bool stops_ = false;
  CallText end_call_;
  Control* control_ = nullptr;
  std::atomic<int64_t> reached_ns_{0};  // the time stamp of the packet that has reached the end
  std::string failure_;                 // of the thread of call_
  HandlerCall call_;                    // the last one: its thread uses the others
};

}  // namespace heddle
