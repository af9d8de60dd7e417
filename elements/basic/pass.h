#pragma once

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
 *      SetTimestamp([TIMESTAMP])
 *
 *  TIMESTAMP: seconds since 1970, such as 1.5; default: the time at which packets pass. One input, one output. Packets
 *  of ports have no time stamps until they pass here.
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

/** Message: prints a message when the chain starts.
 *
 *      Message(MESSAGE [, TYPE])
 *
 *  MESSAGE: text, to standard error. TYPE: MESSAGE (default), WARNING, or ERROR, which stops the start. No ports.
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
