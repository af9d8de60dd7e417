#pragma once

#include "core/element.h"

namespace heddle {

/** FixIPSrc: writes the source address of packets that want it.
 *
 *      FixIPSrc(IPADDR)
 *
 *  IPADDR: an IPv4 address, of the interface behind. Packets whose annotation fix_ip_src is set (ICMPError sets it) get
 *  it as their source address, at the header that annotation l3 marks; the checksum is corrected (RFC 1624) and the
 *  annotation cleared. Others pass unchanged. One input, one output. Drops packets that want it and have no header
 *  ("no_header").
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> d :: DecIPTTL -> out :: Null -> FixIPSrc(10.0.0.1)
 *          -> Discard;
 *      d[1] -> ICMPError(10.0.0.1, timeexceeded) -> out;
 */
class FixIPSrc : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  uint32_t address_ = 0;  // network byte order
};

}  // namespace heddle
