#pragma once

// memif's rings (io/memif/ring.h): the peer moves indices, and what it writes is believed as far as it is checked.

#include "kernels/ring_watch.cuh"

namespace heddle::gpu {

/** `swaps`: both ends own their buffers, which lie in one memory: the rings' buffers change places. Else packets are
 *  copied. `reads_packets`: whether the kernel that reads descriptors reads packets as well. */
template <bool swaps, bool reads_packets = true>
struct MemifRings {
  static constexpr bool kSwaps = swaps, kOnHost = true, kRouted = false;

  /** Polls the peers' indices and the host's stop word in one load. */
  class Watch : public RingWatch {
   public:
    /** One thread calls it. */
    __device__ void start(const RingPair& pair, RingControl& control) {
      at_[0] = pair.rx.owner ? &pair.rx.ring->tail : &pair.rx.ring->head;
      at_[1] = pair.tx.owner ? &pair.tx.ring->tail : &pair.tx.ring->head;
      at_[2] = reinterpret_cast<uint16_t*>(&control.stop);
      bias_ = pair.tx.owner ? pair.tx.size : 0;
      RingWatch::start(pair.rx.position, pair.tx.position);
    }
    /** Looks; false when the host wants an end. One warp calls it. */
    __device__ bool look() {
      const unsigned lane = threadIdx.x % kLanes;
      const unsigned word = SystemAtomic<uint16_t>(*at_[lane < 3 ? lane : 2]).load(cuda::memory_order_relaxed);
      see(received_ + static_cast<uint16_t>(__shfl_sync(~0u, word, 0) - received_),
          limit_ + static_cast<uint16_t>(__shfl_sync(~0u, word, 1) + bias_ - limit_));
      return __shfl_sync(~0u, word, 2) == 0;
    }
    /** Indices say all. */
    __device__ static void tell(uint32_t, uint32_t) {}

   private:
    uint16_t* at_[3];
    uint32_t bias_;
  };

  static __device__ RingArrival read(const RingEnd& rx, uint32_t slot) {
    RingArrival arrival;
    if (rx.owner) {
      arrival.buffer = DeviceAtomic<uint32_t>(rx.buffers[slot]).load(cuda::memory_order_relaxed);
      // comes with the descriptor
      if constexpr (reads_packets) touch(rx.memory[0].base + arrival.buffer + rx.headroom);
    }
    const memif::Descriptor what = load_descriptor(rx.ring->descriptors() + slot);
    arrival.goes_on = (what.flags & memif::kNext) != 0;
    arrival.length = what.length;
    bool right = what.length > 0 && what.length <= rx.capacity;
    if (rx.owner) {
      right = right && what.region == rx.region && what.offset == arrival.buffer + rx.headroom;
      arrival.frame = rx.memory[0].base + arrival.buffer + rx.headroom;
    } else {
      right =
          right && what.region < rx.region_count && uint64_t{what.offset} + what.length <= rx.memory[what.region].bytes;
      if (right) arrival.frame = rx.memory[what.region].base + what.offset;
    }
    arrival.is_right = right;
    return arrival;
  }

  /** An owner's. */
  static __device__ void refill(const RingEnd& rx, uint32_t slot, uint32_t buffer) {
    store_descriptor(rx.ring->descriptors() + slot, rx.region, rx.capacity, buffer + rx.headroom);
  }

  /** A packet that lies in the transmitting end's memory. */
  static __device__ void place(const RingEnd& tx, uint32_t slot, const uint8_t* frame, uint32_t length) {
    store_descriptor(tx.ring->descriptors() + slot, tx.region, length,
                     static_cast<uint32_t>(frame - tx.memory[0].base));
  }

  /** One that is to be copied: returns where to. Null if the peer describes that wrongly: an empty packet takes its
   *  place. */
  static __device__ uint8_t* place_copy(const RingEnd& tx, uint32_t slot, uint32_t length) {
    memif::Descriptor there{0, tx.region, tx.capacity, 0, 0};
    uint8_t* to = nullptr;
    if (tx.owner) {
      there.offset = DeviceAtomic<uint32_t>(tx.buffers[slot]).load(cuda::memory_order_relaxed) + tx.headroom;
      to = tx.memory[0].base + there.offset;
    } else {
      there = load_descriptor(tx.ring->descriptors() + slot);
      if (there.region < tx.region_count && length <= there.length &&
          uint64_t{there.offset} + length <= tx.memory[there.region].bytes)
        to = tx.memory[there.region].base + there.offset;
    }
    store_descriptor(tx.ring->descriptors() + slot, there.region, to != nullptr ? length : 0, there.offset);
    return to;
  }

  /** The receiving ring is full of buffers for the first time. */
  static __device__ void tell_filled(const RingEnd& rx) { store(rx.ring->head, rx.size); }

  /** Moves the indices: packets before `to` have been received, those before `sent` are to be sent. */
  static __device__ void tell(const RingPair& pair, Watch&, uint32_t to, uint32_t sent) {
    tell_sent(pair.tx, sent);
    tell_received(pair.rx, to);
  }
  static __device__ void tell_sent(const RingEnd& tx, uint32_t sent) {
    store(tx.owner ? tx.ring->head : tx.ring->tail, sent);
  }
  static __device__ void tell_received(const RingEnd& rx, uint32_t to) {
    store(rx.owner ? rx.ring->head : rx.ring->tail, rx.owner ? to + rx.size : to);
  }

 private:
  static __device__ void store(uint16_t& word, uint32_t value) {
    SystemAtomic<uint16_t>(word).store(static_cast<uint16_t>(value), cuda::memory_order_relaxed);
  }
};

}  // namespace heddle::gpu
