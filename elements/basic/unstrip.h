#pragma once

#include "core/element.h"

namespace heddle {

/** Unstrip: takes bytes before the start of packets back.
 *
 *      Unstrip(LENGTH)
 *
 *  LENGTH: bytes to take back, 0 to 128. After Strip(LENGTH) they are the bytes that Strip removed; else they are what
 *  happened to lie there, and how many there are depends on who has made the packet's buffer. Runs inside segments of
 *  either processor, on a GPU only as the reverse of an earlier Strip. Drops packets with less room before them
 *  ("no_headroom").
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> Unstrip(14) -> ToDump(ip.pcap);
 */
class Unstrip : public NeutralElement {
 public:
  void configure(click::Arguments& arguments) override;
  std::optional<NeutralOp> neutral() const override { return NeutralOp{NeutralOp::kMoveHead, -bytes_}; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  int bytes_ = 0;
};

}  // namespace heddle
