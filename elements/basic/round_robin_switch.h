#pragma once

#include <array>

#include "core/element.h"

namespace heddle {

/** RoundRobinSwitch: deals packets out to its outputs in turn.
 *
 *      RoundRobinSwitch
 *
 *  One push input, one or more push outputs. The first packet goes to output 0, the next to output 1, and so on,
 *  beginning again behind the last. Each packet thread deals out its own packets in turn.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> r :: RoundRobinSwitch; r[0] -> ToDump(even.pcap); r[1] -> ToDump(odd.pcap);
 */
class RoundRobinSwitch : public Element {
 public:
  const char* ports() const override { return "1/1-"; }
  const char* processing() const override { return "h/h"; }
  void run_cpu(Batch& batch) override;

 private:
  struct alignas(64) Turn {
    int output = 0;
  };
  std::array<Turn, kMaxThreads> turn_;  // by thread
};

}  // namespace heddle
