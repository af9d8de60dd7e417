#pragma once

#include "core/element.h"

namespace heddle {

/** CheckLength: sends packets that are too long another way.
 *
 *      CheckLength(LENGTH [, keyword EXTRA_LENGTH])
 *
 *  LENGTH: most bytes of a packet that leaves by output 0. Longer ones leave by output 1, or, if that is not connected,
 *  are dropped ("too_long"). EXTRA_LENGTH: whether bytes count that a packet had on the wire, but a capture
 *  does not have, default false.
 *
 *  Handlers: `length` (rw).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> c :: CheckLength(1514) -> ToDump(out.pcap); c[1] -> Discard;
 */
class CheckLength : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override { return {}; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  std::atomic<uint32_t> most_{0};
  bool extra_length_ = false;
};

}  // namespace heddle
