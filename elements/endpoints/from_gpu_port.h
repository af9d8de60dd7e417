#pragma once

#include "elements/endpoints/gpu_port.h"

namespace heddle {

/** FromGPUPort: receives packets into a GPU, which drives the descriptor rings of the port by itself: no CPU core works
 *  for the packets.
 *
 *      FromGPUPort(PORT [, keywords SOCKET, ROLE, ID, QUEUES, NDESC, BUFFER, WARP_BATCH, KERNELS, SECRET,
 *      SOFTNIC, NIC_SOCKET])
 *
 *  Everything between it and a ToGPUPort must run on one GPU: functions with DEVICE gpu (or --device gpu), and neutral
 *  elements such as Strip and GetIPAddress. Packets keep their order. All ways out lead to ToGPUPorts, up to 8, which
 *  may be that of the same port, as in the example, or of others, memifs and soft NICs side by side. If there are
 *  several, or one is of another kind than this port, one multiprocessor serves a ring pair: KERNELS fused and
 *  WARP_BATCH 448 at most. Ways of several FromGPUPorts may meet, as in a router from each port to all of them; those
 *  that meet leave by 8 in all.
 *
 *  PORT: a name for the port. A FromGPUPort and a ToGPUPort of the same name are the two directions of one port; one of
 *  the two has the other arguments. With SOCKET the port is a memif interface, version 2.0: shared memory with another
 *  program, such as DPDK's net_memif or Heddle. SOCKET: path of its control socket, which only the user of this program
 *  may open (mode 0600). ROLE: client (default) makes the shared memory and is the faster one: packets change rings
 *  without being copied. server listens at SOCKET and uses the memory of its client. ID: number of the interface at
 *  SOCKET, default 0. QUEUES: rings to receive from, 1 (default) to 64, each served by a multiprocessor or more; the
 *  peer must send by as many. The port transmits by a ring for each one, of this or another port, whose packets may
 *  leave by it, and its peer must receive from as many: two, if two ports with one ring each send to it (testpmd
 *  --rxq=2 --txq=1). Their order is that of the FromGPUPorts in the configuration that opens the port. NDESC:
 *  descriptors of a ring, a power of two from 32 to 16384, default 1024; a client's choice. BUFFER: bytes of the
 *  packets that a client's buffers hold, default 2048. WARP_BATCH: packets received by a ring pair that are worked on
 *  at a time, a multiple of 32 up to 10240: each 32 of 448 or fewer have a warp, on one multiprocessor; each 32 of more
 *  have four warps, and a multiprocessor 128. 0 (default): 448, and where functions go over whole packets, such as
 *  IPsec, as many as NDESC, if half of the GPU's multiprocessors have room for them, or seven eighths where nothing
 *  else of the chain runs. Fewer leave room on a GPU that other programs use, too, and packets wait less for others' at
 *  high load. A single ring pair is faster with WARP_BATCH 2048 and NDESC 2048 or more than with 448, but takes four
 *  microseconds more at low load. KERNELS:
 *  fused (default) or split, as in GPU-Ether, to compare: one kernel receives, one runs the functions and one
 *  transmits, each with a block and WARP_BATCH / 32 warps a ring pair, and tiles of up to 32 packets go from one to the
 *  next through GPU memory. It takes three multiprocessors a pair and adds to the latency. Packets are never gathered,
 *  and WARP_BATCH is 448 at most. SECRET: up to 23 bytes that the peer must know. A peer that polls its rings has
 *  packets soonest. One in interrupt mode, as VPP's interfaces are by default, is woken by a thread of this program,
 *  which looks for packets to it: within about 100 us while packets flow, and after a pause within an eighth of it, 4
 *  ms at most.
 *
 *  SOFTNIC: in the place of SOCKET, a DPDK device as FromDPDKDevice takes it. The GPU drives the rings of a NIC, with
 *  the descriptors, done bits and tail registers of Intel's 82599; rings and frames lie in GPU memory. No such chip has
 *  to be there: its part is played by two threads of this program a queue, which take frames from the device and send
 *  what comes to it, and by a kernel in the place of its DMA engine. QUEUES: 1 (default) to 8; all receive queues of
 *  the device are shared out among them. NDESC: 32 to 4096. BUFFER: 1024 to 16384 bytes, a multiple of 1024; as the
 *  chip does, it spreads a longer frame over several buffers, and that is dropped (`chained`, once for each buffer).
 *  While the rings are full, frames wait in the device, which counts what it drops. A device belongs to one port.
 *
 *  NIC_SOCKET: in the place of SOFTNIC, the socket of a process that plays the NIC: `heddle softnic SOCKET DEVICE`,
 *  with the same --device as this port, and its QUEUES and BUFFER as --queues and --buffer. Rings and frames lie in
 *  this program's GPU memory, which that process gets, as it is. It may come and go; what lies in the rings then is
 *  lost and counted, and the rings begin anew. As its kernels play the DMA engine from another process, a GPU must let
 *  both in at the same time, which takes NVIDIA's MPS; without it they take turns.
 *
 *  A memif's peer may come and go: while one is not there, nothing is received, and what it has sent before waits for
 *  the other port of the chain; behind several ToGPUPorts, until one of them has a peer, and packets for the others are
 *  dropped there (`no_peer`). All client ports of a chain share one memory for their buffers, so their peers can see
 *  each other's packets.
 *
 *  Hot reconfiguration: a port that has the same name in the next configuration goes on as it is, with its peer and
 *  what lies in its rings. Only WARP_BATCH and KERNELS may be others then.
 *
 *  Drop reasons: `bad_descriptor` (region, offset or length lie outside of what the port shares, or of the NIC's
 *  buffer, or the NIC has seen an error: such memory is not touched), `chained` (a packet in several buffers). A peer
 *  whose ring indices make no sense is disconnected, and standard error says so.
 *
 *  Handlers: `count`, `byte_count`, `dropped` (r), `reset_counts` (w), `connected` (r: whether a peer is there).
 *  Statistics: `connections` (peers that have come so far); `unprocessed` (frames in the rings when the peer went, or
 *  the program ended; of a process that plays a NIC, which prints the others itself, buffers); of a soft NIC
 *  `bad_length` (the device gave a frame without bytes, or more than its buffer has), `too_large` (nothing held it).
 *
 *  Example:
 *
 *      FromGPUPort(lan, SOCKET /tmp/lan.sock, ROLE server) -> EtherMirror(DEVICE gpu) -> ToGPUPort(lan);
 *
 *      FromGPUPort(eth, SOFTNIC "net_af_packet0,iface=eth0") -> ip :: CheckIPHeader(14, DEVICE gpu)
 *          -> rt :: DirectIPLookup(10.0.0.0/8 0, 0/0 1, DEVICE gpu);
 *      rt[0] -> ToGPUPort(inside, SOCKET /tmp/inside.sock);
 *      rt[1] -> ToGPUPort(eth);
 *      FromGPUPort(inside) -> ip;
 */
class FromGPUPort : public GPUPort {
 public:
  enum Reason { kBadDescriptor, kChained };
  const char* ports() const override { return "0/1"; }
  const char* processing() const override { return "/h"; }
  std::span<const char* const> drop_reasons() const override;
  /** Packets may come as long as the GPU works. */
  bool keeps_running() const override { return !failed; }
  bool receives() const override { return true; }
};

}  // namespace heddle
