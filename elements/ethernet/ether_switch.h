#pragma once

#include <memory>

#include "core/element.h"
#include "elements/basic/rate.h"

namespace heddle {

/** EtherSwitch: a learning switch for Ethernet.
 *
 *      EtherSwitch([keywords TIMEOUT, CAPACITY])
 *
 *  As many push inputs as push outputs, one each for a port. A frame goes to the port from which its destination was
 *  last heard of; if there is none, or it is a broadcast or multicast, a copy goes to every port but that by which it
 *  came. TIMEOUT: how long an address is remembered, default 5 min; 0: for ever. CAPACITY: addresses that it remembers,
 *  about, default 65536; the oldest go. Drops: "same_port", the destination is where it came from; "short", less than
 *  14 bytes; "bad_source", from a multicast address; "reserved", to 01:80:c2:00:00:00 ... 0f, which bridges keep to
 *  their ports (spanning tree, pause, LACP, LLDP): nothing is learnt from it. IEEE 802.1D, 7.
 *
 *  Handlers: `table` (r): address and port of those that are remembered; `timeout` (rw, seconds).
 *
 *  Example:
 *
 *      s :: EtherSwitch; FromDevice(a) -> [0]s[0] -> ToDevice(a); FromDevice(b) -> [1]s[1] -> ToDevice(b);
 */
class EtherSwitch : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1-/1-"; }
  const char* processing() const override { return "h/h"; }
  bool tells_inputs() const override { return true; }
  bool leads(int input, int output) const override { return input != output; }
  Access access(Processor) const override;
  int copies() const override { return outputs; }
  bool copies_some() const override { return true; }
  int copies_to(Batch& batch, int output, uint16_t* which) override;
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  enum Reason : int { kSamePort, kShort, kBadSource, kReserved };

  static constexpr uint32_t kWays = 4;
  /** One word, so that it is always read whole: 48 bits of address, 8 of port, 8 that are not 0. Time apart. */
  struct Entry {
    std::atomic<uint64_t> word{0};
    std::atomic<uint32_t> heard_s{0};
  };
  static uint64_t address_at(const uint8_t* at);
  Entry* ways(uint64_t address) const;
  void learn(uint64_t address, uint32_t port, uint32_t now_s);
  /** Of another table, if it is newer than one that it takes the place of. No packet thread runs. */
  void take_over(uint64_t word, uint32_t heard_s);
  bool is_old(const Entry& entry, uint32_t now_s) const;
  /** The port, or -1. */
  int port_of(uint64_t address, uint32_t now_s) const;

  std::atomic<uint32_t> timeout_s_{300};
  uint32_t mask_ = 0, capacity_ = 65536;
  std::unique_ptr<Entry[]> entries_;
  struct alignas(kCacheLine) Thread {
    BatchClock clock;
    std::unique_ptr<int[]> ports;  // [batch size], of the batch under way: -1 for all
  };
  std::unique_ptr<Thread[]> threads_;
};

}  // namespace heddle
