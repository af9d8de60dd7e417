#pragma once

#include "core/element.h"

namespace heddle {

/** EraseIPPayload: overwrites the data of TCP and UDP packets with zeros.
 *
 *      EraseIPPayload
 *
 *  For captures that others may see: headers and lengths stay, the bytes behind the TCP or UDP header become zeros up
 *  to the packet's end, those of later fragments all behind the IPv4 header. Checksums are not corrected. Packets of
 *  other protocols pass unchanged. The header is at annotation l3; one input, one output. Drops packets without a
 *  header there ("no_header").
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> AnonymizeIPAddr -> EraseIPPayload -> ToDump(public.pcap);
 */
class EraseIPPayload : public Element {
 public:
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
};

/** TruncateIPPayload: shortens the data of IPv4 packets to a maximum length.
 *
 *      TruncateIPPayload([LENGTH, TRANSPORT, keyword EXTRA_LENGTH])
 *
 *  LENGTH: bytes that stay behind the TCP, UDP or ICMP header, or, of other protocols, of later fragments and with
 *  TRANSPORT false, behind the IPv4 header; default 0. Headers, and the lengths in them, stay as they are. The IPv4
 *  header is at annotation l3; packets without one keep LENGTH bytes in all. EXTRA_LENGTH: whether the bytes cut count
 *  as bytes of the packet that are missing, so that ToDump writes its full length beside the shorter capture length;
 *  default true. They are not noted for packets that come from a port. One input, one output.
 *
 *  Example, a capture of headers:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> TruncateIPPayload -> ToDump(headers.pcap);
 */
class TruncateIPPayload : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  bool changes_length() const override { return true; }
  void run_cpu(Batch& batch) override;

 private:
  uint32_t bytes_ = 0;
  bool transport_ = true, extra_length_ = true;
};

}  // namespace heddle
