#pragma once

#include <algorithm>
#include <cstdint>

#include "gpu/program.h"
#include "io/memif/ring.h"
#include "io/softnic/ixgbe.h"

namespace heddle::gpu {

constexpr int kMaxRegions = 16;  ///< of a port's shared memory
// What takes a ring pair's packets through the program, a tile each at a time: in one block up to kMaxRingWorkers
// warps. For functions that go over whole packets, teams of kTeamWarps warps, each a block of its own; of these a
// multiprocessor has registers for kTeamsAtOnce. Three that read packets in host memory, where they lie, read more of
// them than four (docs/results.md): presumably four lose lines from L1 of which they have read a part.
constexpr int kMaxRingWorkers = 14, kTeamWarps = 4, kTeamsAtOnce = 4, kTeamsInPlace = 3, kMaxTeams = 320;

/** Teams for each of `pairs` ring pairs: as many as a receiving ring of `size` descriptors has packets for and half of
 *  the multiprocessors have room for; seven eighths if nothing else runs there (`alone`). `in_place`: they read packets
 *  in host memory. */
constexpr int teams_of_pair(int multiprocessors, bool alone, bool in_place, int pairs, uint32_t size) {
  const int usable = alone ? multiprocessors - multiprocessors / 8 : multiprocessors / 2;
  const int teams = usable * (in_place ? kTeamsInPlace : kTeamsAtOnce);
  const int room = teams / pairs - 1;  // a block finds out what has come
  return std::clamp(std::min(room, static_cast<int>(size) / kSlotPackets), kMaxRingWorkers, kMaxTeams);
}

/** Memory that kernels and a port's peer reach. */
struct SharedMemory {
  uint8_t* base = nullptr;
  uint64_t bytes = 0;
};

/** What the rings of a pair are: memif's, or those of a NIC. `memif`: this end owns the buffers of both, in one memory,
 *  and packets stay where they are: the rings' buffers change places, as a NIC's do. `memif_copied`: the peer of one of
 *  them, or of both, owns its buffers. `routed`: several transmitting rings, or one of the other kind (RingOutput); a
 *  block serves a pair. */
enum class RingKind : uint8_t { memif, memif_copied, nic, routed };
constexpr int kRingKinds = 4;
constexpr int kMaxOutputs = 8;  ///< transmitting rings of a receiving one

/** One ring as the GPU drives it. The end that owns the buffers (memif's client) chooses the buffer behind each
 *  descriptor and never reads from the ring which one it is; the other end reads it and checks it. A NIC's buffers are
 *  the GPU's. */
struct RingEnd {
  memif::Ring* ring;               ///< memif: host memory, shared with the peer
  ixgbe::Descriptor* descriptors;  ///< NIC: [size]; those of a transmitting ring begin as done
  uint32_t* tail;                  ///< NIC: its doorbell, a register or host memory
  uint64_t bus;                    ///< NIC: what it calls memory[0].base
  uint32_t size;                   ///< descriptors, a power of two
  uint32_t position;               ///< packets that have gone through since the connection is up
  bool owner;                      ///< this end has made the buffers
  bool fresh;                      ///< a receiving owner: no descriptor has been given its buffer yet
  uint32_t* buffers;               ///< owner: [size], by descriptor, where its buffer begins in `memory`; device memory
  uint32_t headroom;               ///< owner: bytes before the place where a packet is to begin
  uint32_t capacity;               ///< bytes of a packet, most: behind that, in the other end's buffers, or received
  uint16_t region;                 ///< owner: the buffers' number
  uint16_t region_count;           ///< the other end's regions that may be named
  SharedMemory memory[kMaxRegions];  ///< owner: [0] holds the buffers; else by region
};

/** Rings that are served together: what is received from `rx` goes through a program and leaves by `tx`, in order. */
struct RingPair {
  RingEnd rx, tx;
};

/** One of the transmitting rings that packets of a receiving one leave by: that of exit i of the program is number i.
 *  If packets leave by several, those for one that is full, or has no peer, are dropped; else no more are received. */
struct RingOutput {
  RingEnd end;    ///< of size 0, and with the largest capacity: it has no peer
  bool swaps;     ///< its buffers and the receiving ring's lie in one memory, and change places; else it is copied
  uint16_t node;  ///< of the program: counts what is transmitted
  uint16_t first_drop;  ///< exit of the first of PlaceDrop
};

/** Packets of a program's rings by exit: those that functions drop there; the program's first exits are the
 *  transmitting rings. Those of a receiving port, in the order of RingDrop, are where RingNodes says; the last ones are
 *  those of the transmitting port, in that of PlaceDrop; of several as RingOutput says. Device memory, [exits]. */
using RingCount = unsigned long long;
enum RingDrop : int { kBadDescriptor, kChained };
enum PlaceDrop : int { kTooLong, kBadBuffer, kFull, kNoPeer };
constexpr int kPlaceDrops = 4;

/** What the nodes and exits of a program are to the rings of one receiving port. */
struct RingNodes {
  uint16_t exits;               ///< how many there are
  uint16_t receives;            ///< the node that counts what is received
  uint16_t first_receive_drop;  ///< exit of the first of its RingDrop
  uint16_t enters;              ///< the node at which packets enter
  uint16_t transmits;           ///< with one transmitting ring: the node that counts what is transmitted
  uint16_t only_output;         ///< transmitting ring that all packets leave by, among several; kMaxOutputs: by several
};

/** Words between the host and who serves a pair, in pinned host memory; those that are polled have a line of their
 *  own. */
struct RingControl {
  alignas(128) uint32_t stop;         ///< host: end when all that has been begun is published
  alignas(128) uint32_t fault;        ///< GPU: RingFault, when it has ended by itself
  uint32_t rx_position, tx_position;  ///< GPU: where it has ended
  uint32_t outputs[kMaxOutputs];      ///< the same of kind routed, in the place of tx_position
};

/** What a peer does that no honest one does. Of several transmitting rings that of number i is kTxIndexLies + i. */
enum RingFault : uint32_t { kNoFault, kRxIndexLies, kTxIndexLies };
constexpr const char* text(RingFault fault) {
  return fault == kNoFault       ? ""
         : fault == kRxIndexLies ? "the peer says that it has filled more descriptors than a ring has"
                                 : "the peer says that it has emptied more descriptors than were filled";
}

}  // namespace heddle::gpu
