#pragma once

#include "core/element.h"

namespace heddle {

/** ARPPrint: prints ARP messages to standard error.
 *
 *      ARPPrint([LABEL, keywords TIMESTAMP, ETHER, ACTIVE])
 *
 *  One input, one output; packets, Ethernet frames, pass unchanged. A line reads "LABEL: TIMESTAMP: arp who-has
 *  10.0.0.2 tell 10.0.0.1" or "arp reply 10.0.0.2 is-at 02-00-00-00-00-02"; others are "arp op N", or "not arp".
 *  TIMESTAMP: whether to print when the packet was captured, default true. ETHER: whether to print the frame's
 *  addresses, default false. ACTIVE: false lets packets pass in silence, default true.
 *
 *  Handlers: `active` (rw).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Classifier(12/0806) -> ARPPrint -> Discard;
 */
class ARPPrint : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override { return {.reads = {{Base::head, 0, 42}}}; }
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  void describe(std::string& line, const Packet* packet) const;

  std::string label_;
  bool timestamp_ = true, ethernet_ = false;
  std::atomic<bool> active_{true};
};

}  // namespace heddle
