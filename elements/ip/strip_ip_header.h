#pragma once

#include "core/element.h"

namespace heddle {

/** StripIPHeader: removes the IPv4 header and what is before it.
 *
 *      StripIPHeader
 *
 *  The header is the one that CheckIPHeader or MarkIPHeader has marked (annotation l3); packets then begin behind it,
 *  options included. One input, one output. Drops packets without such a header ("no_header").
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> StripIPHeader -> Print(payload) -> Discard;
 */
class StripIPHeader : public Element {
 public:
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  bool changes_length() const override { return true; }
  bool head_varies() const override { return true; }
  void run_cpu(Batch& batch) override;
};

}  // namespace heddle
