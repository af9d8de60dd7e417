#pragma once

#include "core/element.h"

namespace heddle {

/** SetAnnoByte: sets an annotation of one byte.
 *
 *      SetAnnoByte(ANNO, VALUE)
 *
 *  ANNO: the annotation, by its name or its byte in Click: PAINT (20), ICMP_PARAMPROB (21), the byte of the header that
 *  ICMPError reports, or FIX_IP_SRC (22), which tells FixIPSrc to write the source address if it is 1; there are no
 *  other annotations of one byte. VALUE: 0 to 255. One input, one output.
 *
 *  Handlers: `anno` and `offset` (r, its byte in Click), `value` (r).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> SetAnnoByte(PAINT, 3) -> CheckPaint(3) -> ToDump(out.pcap);
 */
class SetAnnoByte : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  Access access(Processor) const override { return {.column_writes = columns(column_)}; }
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  Column column_ = Column::paint;
  int offset_ = 0;  // in Click
  uint32_t value_ = 0;
};

}  // namespace heddle
