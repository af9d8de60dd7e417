#pragma once

#include <string>
#include <vector>

#include "click/graph.h"
#include "core/element.h"
#include "elements/ip/filter/program.h"

namespace heddle {

/** IPFilter: filters IP packets by their contents.
 *
 *      IPFilter([ACTION_1 PATTERN_1, ..., ACTION_N PATTERN_N])
 *
 *  Each packet takes the ACTION of the first PATTERN that it matches; without any it is dropped. ACTION is the number
 *  of an output; `allow` or `pass`, which mean output 0; `deny` or `drop`. PATTERN is as in IPClassifier (heddle
 *  elements IPClassifier); "all", "any", "-" or nothing match every packet.
 *
 *  The network and transport headers must be marked, by CheckIPHeader or MarkIPHeader. Drops: "denied" (an action says
 *  so), "no_match" (no pattern matches), "short" (fewer than 20 bytes of an IPv4 header).
 *
 *  Handlers: `program` (read) gives the tests into which the patterns were compiled, a line each, in Click's format:
 *  offset (0 is the first byte of the Ethernet header, 256 the first byte of the IPv4 header, 512 of the transport
 *  header), value or "from-to", mask, and where the packet goes on: a step, [output] or [X], a drop.
 *
 *  Errors: a pattern that the language does not know, with the place of the word; an output that is not connected.
 *
 *  Example, web and name service for 10.0.0.0/8 and nothing else:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14)
 *          -> IPFilter(allow dst 10.0.0.0/8 and dst tcp port www or https, allow udp port domain, deny all)
 *          -> ToDump(allowed.pcap);
 */
class IPFilter : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  const char* ports() const override { return "1/-"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void handlers(Handlers& list) override;
  void run_cpu(Batch& batch) override;

 protected:
  enum Reason : int { kNoMatch, kShort, kDenied };
  /** Reads rules, `texts` taken from `arguments`: with actions, or as those of IPClassifier, one an output. */
  void compile(click::Arguments& arguments, const std::vector<click::Argument>& texts, bool with_actions);

 private:
  ip_filter::Program any_length_;  // for packets of any length
  ip_filter::Program program_;     // for those that have all bytes that it looks at: most
};

}  // namespace heddle
