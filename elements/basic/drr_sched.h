#pragma once

#include <cstdint>
#include <vector>

#include "core/element.h"
#include "elements/basic/held_ahead.h"

namespace heddle {

/** DRRSched: pulls from its inputs in turn, so that each gets as many bytes as the others.
 *
 *      DRRSched
 *
 *  An input whose turn comes gets credit for 500 bytes more, and packets leave by it as long as its credit is enough
 *  for the next one; it keeps what is left until its next turn, or loses it if it has no packet then. So inputs with
 *  long packets get as many bytes as inputs with short ones, where RoundRobinSched gives them as many packets. Pull
 *  inputs, one pull output. (M. Shreedhar, G. Varghese, "Efficient Fair Queuing using Deficit Round Robin", SIGCOMM
 *  1995.)
 *
 *  A packet's length is the one with which it waits before the element: what stands between there and the input sees
 *  packets when they have been chosen.
 *
 *  Hot reconfiguration: the packet of each input that it has looked at goes over to the element of the same name with
 *  as many inputs.
 *
 *  Example:
 *
 *      FromDump(a.pcap) -> Queue -> [0]d :: DRRSched -> Unqueue -> Discard; FromDump(b.pcap) -> Queue -> [1]d;
 */
class DRRSched : public LookAheadScheduler {
 public:
  void configure(click::Arguments& arguments) override;
  void take_state(Element& old) override;
  uint64_t packets_held() const override;
  std::string stop() override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

  bool wants(int input) const override { return inputs_[static_cast<size_t>(input)].next.packet() == nullptr; }
  void hold(int input, Batch& batch, int i, ColumnSet columns, int origin) override;
  int release(Batch& batch) override;
  bool holds() const override { return packets_held() > 0; }

 private:
  struct Input {
    HeldAhead next;
    uint32_t credit = 0;  // bytes
  };
  static constexpr uint32_t kQuantum = 500;

  std::vector<Input> inputs_;
  size_t turn_ = 0;
  uint64_t left_ = 0;
};

}  // namespace heddle
