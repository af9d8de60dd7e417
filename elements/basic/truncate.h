#pragma once

#include "core/element.h"

namespace heddle {

/** Truncate: shortens packets to a maximum length.
 *
 *      Truncate(LENGTH [, keyword EXTRA_LENGTH])
 *
 *  LENGTH: bytes that a packet keeps, from its start, 0 to 65535; shorter packets pass unchanged. EXTRA_LENGTH (also
 *  EXTRA_ANNO): whether the bytes cut count as bytes of the packet that are missing, so that ToDump writes its full
 *  length beside the shorter capture length; default true. They are not noted for packets that come from a port. One
 *  input, one output.
 *
 *  Example, a capture of headers:
 *
 *      FromDump(in.pcap) -> Truncate(64) -> ToDump(headers.pcap);
 */
class Truncate : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  bool changes_length() const override { return true; }
  void run_cpu(Batch& batch) override;

 private:
  uint32_t bytes_ = 0;
  bool extra_length_ = true;
};

}  // namespace heddle
