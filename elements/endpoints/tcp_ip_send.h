#pragma once

#include <array>

#include "core/element.h"

namespace heddle {

/** TCPIPSend: makes TCP packets when it is told to.
 *
 *      TCPIPSend
 *
 *  No input, one output, push or pull, where IPv4 packets without payload leave: TTL 255, not to be fragmented, with a
 *  window of 32120 and right checksums. The annotations dst, l3 and l4 are set. Runs on the first packet thread, or
 *  where StaticThreadSched puts it.
 *
 *  Handlers: `send` (w): "SADDR SPORT DADDR DPORT SEQ ACK BITS", the addresses and ports, the sequence number, the
 *  acknowledgement, and the number that TCP's flags make, 0 to 255 (2 is SYN); it is an error while 1,024 packets wait
 *  to leave. `count` (r): packets that have left.
 *
 *  Example:
 *
 *      t :: TCPIPSend -> EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2) -> ToDump(out.pcap);
 *      Script(write t.send 10.0.0.1 1024 10.0.0.2 80 1000 0 2);
 */
class TCPIPSend : public Source {
 public:
  Access access(Processor) const override { return {.column_writes = columns(Column::dst, Column::l3, Column::l4)}; }
  void start(const Environment& environment) override { packets_ = environment.packets; }
  void receive(Batch& batch) override;
  bool exhausted() const override { return sent_ == asked_; }
  void handlers(Handlers& list) override;

 private:
  static constexpr uint32_t kBytes = 40, kMaxWaiting = 1024;
  using Headers = std::array<uint8_t, kBytes>;
  void send(const std::string& text);

  PacketPool* packets_ = nullptr;
  std::array<Headers, kMaxWaiting> waiting_;  // a ring: packet n at n modulo the size
  std::atomic<uint64_t> asked_{0}, sent_{0};  // by handlers, one at a time, and by the packet thread
};

}  // namespace heddle
