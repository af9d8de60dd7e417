#pragma once

#include <string>
#include <vector>

#include "core/sets_first.h"
#include "elements/nat/rewriter.h"

namespace heddle {

/** ICMPRewriter: rewrites ICMP errors about packets of rewritten flows.
 *
 *      ICMPRewriter(REWRITERS [, keywords DST_ANNO, REPLY_ANNO])
 *
 *  REWRITERS: names of IPRewriter and its like, with spaces between. Packets have an IPv4 header at annotation l3. An
 *  ICMP error quotes the start of a packet; if one of the rewriters has made that packet, its rewriting is undone in
 *  the quotation, FTPPortMapper's moved numbers included, and the error goes to the packet's first sender. Checksums
 *  are updated incrementally. DST_ANNO: whether the annotation dst is set to the new destination, default true.
 *  REPLY_ANNO: PAINT, if an error about a packet on its flow's way there gets the paint that the rewriter has kept of
 *  that flow (its REPLY_ANNO).
 *
 *  Output 0: rewritten errors. Output 1, if connected: all other packets, unchanged; if not, they are dropped:
 *  "not_icmp_error", "no_mapping", "no_header". RFC 3022, 4.3; RFC 5508.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> c :: IPClassifier(icmp type 3 or icmp type 11, -);
 *      c[1] -> r :: IPRewriter(pattern 1.0.0.1 1024-65535 - - 0 0) -> ToDump(out.pcap);
 *      c[0] -> ICMPRewriter(r) -> Discard;
 */
class ICMPRewriter : public Element, public SetsFirst {
 public:
  void configure(click::Arguments& arguments) override;
  void link(const Directory& directory) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  ColumnSet sets_first() const override { return set_dst_ ? columns(Column::dst) : 0; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  enum Reason : int { kNotError, kNoMapping, kNoHeader };

  /** What has become of the quoted packet, seen from its sender; how the numbers of its TCP flow have moved, and
   *  whether it is a reply of that. False: none of the rewriters knows it. */
  bool find(const Ip4Header& quoted, nat::FlowKey& before, nat::FlowKey& original, nat::Shifts& shifts, bool& reply,
            uint8_t& annotation) const;
  /** The reason why it is none of ours, or -1. Sets `paint` as REPLY_ANNO says. */
  int rewrite(const Ip4Header& ip, uint32_t* paint) const;

  std::string names_;
  bool set_dst_ = true, sets_paint_ = false;
  std::vector<const Rewriter*> rewriters_;
};

}  // namespace heddle
