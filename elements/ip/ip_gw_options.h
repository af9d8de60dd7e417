#pragma once

#include <vector>

#include "core/element.h"

namespace heddle {

/** IPGWOptions: does what a router does for the options of IPv4 packets.
 *
 *      IPGWOptions(MYADDR [, OTHERADDRS])
 *
 *  MYADDR: the address of the interface behind, which Record Route and Timestamp get. OTHERADDRS: the router's other
 *  addresses, with spaces between, for timestamps that ask for one of them. The header is at annotation l3. Packets
 *  without options pass. Output 0: packets whose options are right, with the route or time recorded and the checksum
 *  corrected. Output 1, if connected: those with a bad option, unchanged, annotation icmp_param pointing at it for
 *  ICMPError; if not, they are dropped ("bad_option"). Packets without a header at l3 are dropped ("no_header"). Source
 *  routes and options that it does not know pass as they are. RFC 791, 3.1; RFC 1812, 5.2.4.
 *
 *  Handlers: `drops` (r): packets with bad options.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> o :: IPGWOptions(10.0.0.1) -> Discard;
 *      o[1] -> ICMPError(10.0.0.1, parameterproblem) -> Discard;
 */
class IPGWOptions : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  enum Reason : int { kBadOption, kNoHeader };

  /** Works on the options of a header. The byte of the header that is wrong, or 0. */
  uint32_t work(uint8_t* header, uint32_t bytes, bool& changed) const;
  uint32_t record_route(uint8_t* header, uint32_t at, uint32_t size, bool& changed) const;
  uint32_t record_time(uint8_t* header, uint32_t at, uint32_t size, bool& changed) const;

  uint32_t address_ = 0;        // network byte order
  std::vector<uint32_t> mine_;  // all addresses, network byte order
  PerThreadCounts bad_{counts};
};

}  // namespace heddle
