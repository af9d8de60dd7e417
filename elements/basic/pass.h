#pragma once

#include <atomic>

#include "core/element.h"

namespace heddle {

/** Align: would align packets' data; Heddle's elements read any alignment, so it lets them pass.
 *
 *      Align(MODULUS, OFFSET)
 *
 *  One input, one output. For configurations of Click, whose click-align puts it there.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Align(4, 2) -> Discard;
 */
class Align : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  void run_cpu(Batch&) override {}
};

/** AlignmentInfo: would say how packets' data is aligned; Heddle's elements read any alignment, so it does nothing.
 *
 *      AlignmentInfo(ELEMENT [MODULUS OFFSET ...], ...)
 *
 *  No ports. For configurations of Click, whose click-align puts it there.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> c :: CheckIPHeader(14) -> Discard; AlignmentInfo(c 4 2);
 */
class AlignmentInfo : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "0/0"; }
  void run_cpu(Batch&) override {}
};

/** ClickyInfo: would say how Clicky, which draws configurations of Click, draws this one; it does nothing.
 *
 *      ClickyInfo([keyword STYLE])
 *
 *  STYLE: a style sheet, which nobody reads. No ports. For configurations of Click.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> c :: Counter -> Discard; ClickyInfo(STYLE #c { decorations: activity });
 */
class ClickyInfo : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "0/0"; }
  void run_cpu(Batch&) override {}
};

/** EnsureDPDKBuffer: would copy packets to buffers of DPDK; all of Heddle's are such, so it lets them pass.
 *
 *      EnsureDPDKBuffer
 *
 *  One input, one output. For configurations of FastClick.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> EnsureDPDKBuffer -> Discard;
 */
class EnsureDPDKBuffer : public Element {
 public:
  void run_cpu(Batch&) override {}
};

/** PushNull: lets packets pass that are pushed.
 *
 *      PushNull
 *
 *  Push input, push output.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> PushNull -> Discard;
 */
class PushNull : public Element {
 public:
  const char* processing() const override { return "h/h"; }
  void run_cpu(Batch&) override {}
};

/** PullNull: lets packets pass that are pulled.
 *
 *      PullNull
 *
 *  Pull input, pull output.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Queue -> PullNull -> Unqueue -> Discard;
 */
class PullNull : public Element {
 public:
  const char* processing() const override { return "l/l"; }
  void run_cpu(Batch&) override {}
};

/** SetTimestamp: sets packets' time stamps.
 *
 *      SetTimestamp([TIMESTAMP, keywords FIRST, DELTA])
 *
 *  TIMESTAMP: seconds since 1970, such as 1.5; default: the time at which packets pass. FIRST and DELTA may only be
 *  false: they are about a second time stamp, which Click's packets have and these have not. One input, one output.
 *  Packets of ports have no time stamps until they pass here.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> SetTimestamp -> ToDump(out.pcap);
 */
class SetTimestamp : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  void run_cpu(Batch& batch) override;

 private:
  bool now_ = true;
  uint64_t time_ns_ = 0;
};

/** AdjustTimestamp: moves packets' time stamps.
 *
 *      AdjustTimestamp(TIME [, keyword ALL])
 *
 *  TIME: how much later they become, in seconds (1.5, -0.25), or with a unit (20ms, -3us). Print and ToIPSummaryDump
 *  show times before 1970 as negative ones, files of ToDump have 0 for them; 0 itself is no time stamp.
 *  ALL: whether packets that have no time stamp get one, which is TIME, default false. One input, one output, push or
 *  pull.
 *
 *  Handlers: `time` (rw, seconds).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> AdjustTimestamp(-3600) -> ToDump(out.pcap);
 */
class AdjustTimestamp : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  std::atomic<int64_t> later_ns_{0};
  bool all_ = false;
};

/** SetTimestampDelta: replaces packets' time stamps by differences.
 *
 *      SetTimestampDelta([keyword TYPE])
 *
 *  TYPE: RANGE (default): the time since the first time stamp that passed, none for what is older than that; NOW: how
 *  long ago the packet's time stamp was. Packets without time stamp pass unchanged. One input, one output.
 *
 *  Handlers: `first` (r, the first time stamp, or nothing), `reset` (w, the next one becomes the first).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> SetTimestampDelta -> ToDump(out.pcap);
 */
class SetTimestampDelta : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  bool until_now_ = false;
  std::atomic<int64_t> first_ns_{0};  // since 1970; 0: none yet
};

/** Message: prints a message when the chain starts.
 *
 *      Message(MESSAGE [, TYPE])
 *
 *  MESSAGE: text, to standard error. TYPE: MESSAGE (default), WARNING, or ERROR, which stops the start. No ports. A
 *  chain may have nothing else.
 *
 *  Example:
 *
 *      Message("about to begin"); FromDump(in.pcap) -> Discard;
 */
class Message : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "0/0"; }
  void start(const Environment& environment) override;
  void run_cpu(Batch&) override {}

 private:
  std::string message_, type_ = "MESSAGE";
};

}  // namespace heddle
