#pragma once

#include <string>

#include "core/element.h"

namespace heddle {

/** Print: prints the first bytes of packets in hexadecimal to standard error.
 *
 *      Print([LABEL, MAXLENGTH, keywords CONTENTS, ACTIVE])
 *
 *  LABEL: text before each line. MAXLENGTH: bytes to print, default 24; -1 for all. CONTENTS: whether to print bytes at
 *  all, default true. ACTIVE: default true; false lets packets pass in silence. A line reads "LABEL: LENGTH | BYTES",
 *  bytes in groups of four. Printing is slow: it is for looking, not for traffic.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Print(in, 34) -> Discard;
 */
class Print : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override { return {.reads = {kWholePacket}}; }
  void run_cpu(Batch& batch) override;

 private:
  std::string label_;
  int max_length_ = 24;
  bool contents_ = true, active_ = true;
};

}  // namespace heddle
