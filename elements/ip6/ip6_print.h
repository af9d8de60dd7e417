#pragma once

#include <string>

#include "core/element.h"
#include "elements/basic/packet_text.h"

namespace heddle {

/** IP6Print: prints IPv6 packets.
 *
 *      IP6Print([LABEL, keywords CONTENTS, NBYTES, ACTIVE])
 *
 *  One input, one output; packets pass unchanged. The header is the one that CheckIP6Header or MarkIP6Header has marked
 *  (annotation l3); packets without one pass in silence. A line goes to standard error for each packet, with addresses,
 *  payload length, next header and hop limit as they stand in the header:
 *
 *      LABEL: 2001:db8::1 -> 2001:db8:1::2 plen 11, next 17, hlim 64
 *
 *  A packet that ends before its 40 bytes of header is "truncated-ip6". LABEL: text before each line. CONTENTS: bytes
 *  of the packet on further lines: HEX, ASCII, NONE (default), true (HEX) or false. NBYTES (also MAXLENGTH): how many
 *  of these, default 1500, -1 for all. ACTIVE: false lets packets pass in silence, default true.
 *
 *  Handlers: `active` (rw).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIP6Header(OFFSET 14) -> IP6Print(in, CONTENTS true, NBYTES 64) -> Discard;
 */
class IP6Print : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override { return {.reads = {kWholePacket}, .column_reads = columns(Column::l3)}; }
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  void describe(std::string& line, Packet* packet, uint32_t l3) const;

  std::string label_;
  Contents contents_ = Contents::none;
  int max_bytes_ = 1500;
  std::atomic<bool> active_{true};
};

}  // namespace heddle
