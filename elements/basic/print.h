#pragma once

#include <string>

#include "core/element.h"
#include "elements/basic/packet_text.h"

namespace heddle {

/** Print: prints packets to standard error.
 *
 *      Print([LABEL, MAXLENGTH, keywords CONTENTS, TIMESTAMP, PRINTANNO, HEADROOM, CPU, ACTIVE])
 *
 *  One input, one output; packets pass unchanged. A line reads "LABEL: LENGTH | BYTES", the length in bytes.
 *
 *  LABEL: text before each line. MAXLENGTH (also NBYTES, LENGTH): bytes to print, default 24; -1 for all. CONTENTS: HEX
 *  (default, groups of four bytes), ASCII (groups of eight, a dot for what cannot be printed), NONE; true and false
 *  stand for HEX and NONE. TIMESTAMP: whether to print when the packet was captured, in seconds since 1970, default
 *  false. PRINTANNO: whether to print the 48 bytes of Click's annotations, default false; of these Heddle has the
 *  destination address (bytes 0 to 3, which an element before this one must set) and paint (byte 20), and the others
 *  are 0. HEADROOM: whether to print the free bytes before and behind the packet, as "(h128 t1984)", default false.
 *  CPU: whether to print the packet thread, as "(0)", default false. ACTIVE: false lets packets pass in silence,
 *  default true. Printing is slow: it is for looking, not for traffic.
 *
 *  Handlers: `active` (rw).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Print(in, 34, TIMESTAMP true) -> Discard;
 */
class Print : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  Access access(Processor) const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  void describe(std::string& line, Batch& batch, int i) const;

  std::string label_;
  int max_length_ = 24;
  Contents contents_ = Contents::hex;
  bool timestamp_ = false, annotations_ = false, headroom_ = false, cpu_ = false;
  std::atomic<bool> active_{true};
};

}  // namespace heddle
