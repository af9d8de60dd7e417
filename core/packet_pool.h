#pragma once

#include <cstddef>
#include <memory>

#include "core/packet.h"
#include "core/packet_memory.h"

struct rte_mempool;

namespace heddle {

struct PacketStack;

/** A pool of packets: a DPDK mempool, so that `rte_pktmbuf_*` work on its packets whoever made it. */
class PacketPool {
 public:
  /** Makes a pool of `count` packets with room for `data_room` bytes each (headroom included, at most 65535) inside
   *  `memory`, which must have bytes_for(count, data_room) bytes, be 64-byte aligned and outlive the pool. Needs
   *  neither EAL nor root nor huge pages: allocation and freeing are a stack behind a spin lock. */
  PacketPool(const char* name, unsigned count, unsigned data_room, std::byte* memory);
  /** Wraps a pool of DPDK's own (made by io/dpdk); does not own it. */
  explicit PacketPool(rte_mempool* pool);
  ~PacketPool();
  PacketPool(const PacketPool&) = delete;
  PacketPool& operator=(const PacketPool&) = delete;

  static size_t bytes_for(unsigned count, unsigned data_room);

  /** Takes `count` packets with empty data and full headroom; false (and none taken) when fewer are left. */
  bool allocate(Packet** packets, unsigned count) { return rte_pktmbuf_alloc_bulk(pool_, packets, count) == 0; }

  rte_mempool* mempool() { return pool_; }
  unsigned available() const;   ///< packets that are free now
  unsigned capacity() const;    ///< packets in all
  unsigned data_bytes() const;  ///< longest packet that fits, beyond the headroom

 private:
  std::unique_ptr<PacketStack> stack_;
  std::unique_ptr<std::byte, void (*)(std::byte*)> header_;
  rte_mempool* pool_;
};

}  // namespace heddle
