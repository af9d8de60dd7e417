#pragma once

#include "elements/endpoints/gpu_port.h"

namespace heddle {

/** ToGPUPort: sends packets that a FromGPUPort has received, from the GPU, which drives the descriptor rings of the
 *  port by itself.
 *
 *      ToGPUPort(PORT [, keywords SOCKET, ROLE, ID, QUEUES, NDESC, BUFFER, SECRET, SOFTNIC, NIC_SOCKET])
 *
 *  Arguments: as for FromGPUPort, whose manual says more. Packets leave in the order in which they arrived, those of
 *  each ring on a ring of their own. When the ring is full, nothing more is received until the peer has taken some; but
 *  if several ToGPUPorts are behind the FromGPUPort, packets for the full one, or for one whose peer is not there, are
 *  dropped, and the others go on.
 *
 *  Drop reasons: `too_long` (for the buffers of a port whose packets must be copied, because one of the two ports is a
 *  server, or one a memif and the other a soft NIC), `bad_buffer` (the peer offers a buffer that does not lie in what
 *  it shares; an empty packet takes its place), `full` (the ring) and `no_peer` (the port has none), where there are
 *  several ToGPUPorts.
 *
 *  Handlers: `count`, `byte_count`, `dropped` (r), `reset_counts` (w), `connected` (r: whether a peer is there).
 *  Statistics: `connections` (peers that have come so far); `unsent` (packets in the rings that a peer had not taken
 *  when it went, or the program ended; a soft NIC's device took them no more before the end); of a soft NIC, whose
 *  device then has not sent them: `too_long` (for its MTU), `malformed` (longer than the program's packets).
 *
 *  Example:
 *
 *      FromGPUPort(lan, SOCKET /tmp/lan.sock) -> XOR(7, DEVICE gpu) -> ToGPUPort(wan, SOCKET /tmp/wan.sock);
 *      FromGPUPort(eth, SOFTNIC "net_af_packet0,iface=eth0") -> EtherMirror(DEVICE gpu) -> ToGPUPort(eth);
 */
class ToGPUPort : public GPUPort {
 public:
  enum Reason { kTooLong, kBadBuffer, kFull, kNoPeer };
  const char* ports() const override { return "1/0"; }
  const char* processing() const override { return "h/"; }
  Access access(Processor) const override { return {.reads = {kWholePacket}}; }
  std::span<const char* const> drop_reasons() const override;
  bool receives() const override { return false; }
};

}  // namespace heddle
