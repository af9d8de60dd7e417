#pragma once

#include "core/element.h"

namespace heddle {

/** CPUSwitch: chooses the output by the packet thread.
 *
 *      CPUSwitch
 *
 *  One push input, one or more push outputs. Packets leave by the output whose number is that of the thread that runs
 *  them, modulo the number of outputs. (FastClick.)
 *
 *  Example, a file for each of two threads (-j 2):
 *
 *      FromDPDKDevice(0) -> c :: CPUSwitch; c[0] -> ToDump(a.pcap); c[1] -> ToDump(b.pcap);
 */
class CPUSwitch : public Element {
 public:
  const char* ports() const override { return "1/1-"; }
  const char* processing() const override { return "h/h"; }
  void run_cpu(Batch& batch) override;
};

}  // namespace heddle
