#pragma once

#include <string>
#include <vector>

#include "core/element.h"

namespace heddle {

/** Clipboard: copies bytes of some packets into others.
 *
 *      Clipboard(OFFSET/LENGTH, ...)
 *
 *  Two inputs and two outputs, push. Of each packet at input 0, which leaves by output 0 as it is, LENGTH bytes from
 *  OFFSET on are remembered, for every such pair; those that it is too short for stay what they were. Packets at input
 *  1 get these bytes, in the same places, as far as some have been remembered and the packet has room, and leave by
 *  output 1. OFFSET: 0 to 16384. LENGTH: 1 to 4096. If an output is not connected, its packets are dropped
 *  ("not_connected").
 *
 *  Example:
 *
 *      c :: Clipboard(6/6); FromDump(a.pcap) -> c -> Discard; FromDump(b.pcap) -> [1] c [1] -> ToDump(out.pcap);
 */
class Clipboard : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "2/1-2"; }
  const char* processing() const override { return "h/h"; }
  bool tells_inputs() const override { return true; }
  bool leads(int input, int output) const override { return input == output; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  struct Piece {
    uint32_t offset = 0;
    std::string bytes;
    uint32_t remembered = 0;  // from the start of bytes on
  };
  std::vector<Piece> pieces_;
  std::atomic_flag taken_;  // by the thread that copies or pastes
};

}  // namespace heddle
