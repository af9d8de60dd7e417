#pragma once

// A NIC's rings (io/softnic/ixgbe.h): descriptors and buffers in GPU memory. The NIC tells by done bits, and is told by
// tails.

#include "kernels/nic_words.cuh"
#include "kernels/ring_watch.cuh"

namespace heddle::gpu {

struct NicRings {
  static constexpr bool kSwaps = true, kOnHost = false, kRouted = false;

  /** Polls the done bits of the next descriptors of both rings. Of those that the NIC does not own it looks at none:
   *  what they say is from the round before. */
  class Watch : public RingWatch {
   public:
    /** One thread calls it. */
    __device__ void start(const RingPair& pair, RingControl& control) {
      received_at_ = pair.rx.descriptors, received_mask_ = pair.rx.size - 1;
      sent_at_ = pair.tx.descriptors, sent_mask_ = pair.tx.size - 1;
      stop_ = &control.stop;
      tell(pair.rx.position, pair.tx.position);
      // Every place of the ring has been fetched or waits for that: the first look will tell.
      RingWatch::start(pair.rx.position, pair.tx.position);
    }
    /** Looks; false when the host wants an end. One warp calls it. */
    __device__ bool look() {
      const uint32_t given = BlockWords::load_acquire(told_received_) + received_mask_ - received_;
      const uint32_t fetched = limit_ - sent_mask_, waiting = BlockWords::load_acquire(told_sent_) - fetched;
      uint32_t in[kRows], out[kRows];
#pragma unroll
      for (uint32_t row = 0; row < kRows; ++row) {
        const uint32_t at = row * kLanes + threadIdx.x % kLanes;
        in[row] = load_status(received_at_[(received_ + at) & received_mask_].word[2]);
        out[row] = load_status(sent_at_[(fetched + at) & sent_mask_].word[3]);
      }
      const uint32_t stop = load_status(*stop_);
      see(received_ + min(first_undone(in), given), limit_ + min(first_undone(out), waiting));
      return __shfl_sync(~0u, stop, 0) == 0;
    }
    /** The NIC has been told; true if that of packets to send was news. */
    __device__ bool tell(uint32_t received, uint32_t sent) {
      const bool news = BlockWords::load_relaxed(told_sent_) != sent;
      BlockWords::store_release(told_received_, received);
      BlockWords::store_release(told_sent_, sent);
      return news;
    }

    /** How many descriptors from `from` on, up to `most`, are done, as this word of theirs says. One warp calls it. */
    static __device__ uint32_t done_from(const RingEnd& end, int word, uint32_t from, uint32_t most) {
      uint32_t status[kRows];
#pragma unroll
      for (uint32_t row = 0; row < kRows; ++row)
        status[row] =
            load_status(end.descriptors[(from + row * kLanes + threadIdx.x % kLanes) & (end.size - 1)].word[word]);
      return min(first_undone(status), most);
    }

   private:
    static constexpr uint32_t kRows = 4;  // of 32 descriptors, that a look sees
    /** How many are done before the first that is not. */
    static __device__ uint32_t first_undone(const uint32_t (&status)[kRows]) {
      uint32_t n = 0;
#pragma unroll
      for (uint32_t row = 0; row < kRows; ++row) {
        const unsigned undone = ~__ballot_sync(~0u, (status[row] & ixgbe::kDone) != 0);
        if (n == row * kLanes) n += undone != 0 ? static_cast<uint32_t>(__ffs(static_cast<int>(undone))) - 1 : kLanes;
      }
      return n;
    }

    ixgbe::Descriptor *received_at_, *sent_at_;
    uint32_t* stop_;
    uint32_t received_mask_, sent_mask_;
    uint32_t told_received_, told_sent_;
  };

  static __device__ RingArrival read(const RingEnd& rx, uint32_t slot) {
    RingArrival arrival;
    arrival.buffer = DeviceAtomic<uint32_t>(rx.buffers[slot]).load(cuda::memory_order_relaxed);
    arrival.frame = rx.memory[0].base + arrival.buffer + rx.headroom;
    const ixgbe::Descriptor what = load_descriptor(rx.descriptors + slot);
    arrival.goes_on = (what.word[2] & ixgbe::kLast) == 0;
    arrival.length = ixgbe::filled_bytes(what);
    arrival.is_right = arrival.length > 0 && arrival.length <= rx.capacity && (what.word[2] & ixgbe::kErrors) == 0;
    return arrival;
  }

  static __device__ void refill(const RingEnd& rx, uint32_t slot, uint32_t buffer) {
    store_descriptor(rx.descriptors + slot, ixgbe::empty(rx.bus + buffer + rx.headroom));
  }

  static __device__ void place(const RingEnd& tx, uint32_t slot, const uint8_t* frame, uint32_t length) {
    store_descriptor(tx.descriptors + slot,
                     ixgbe::to_send(tx.bus + static_cast<uint64_t>(frame - tx.memory[0].base), length));
  }

  /** A packet that is to be copied: returns where to. */
  static __device__ uint8_t* place_copy(const RingEnd& tx, uint32_t slot, uint32_t length) {
    uint8_t* const to =
        tx.memory[0].base + DeviceAtomic<uint32_t>(tx.buffers[slot]).load(cuda::memory_order_relaxed) + tx.headroom;
    place(tx, slot, to, length);
    return to;
  }

  /** The receiving ring is full of buffers for the first time: the NIC gets all but one, or the tail would be the
   *  head. */
  static __device__ void tell_filled(const RingEnd& rx) { ring(rx, rx.size - 1); }

  /** Rings the doorbells: packets before `to` have been received, those before `sent` are to be sent. */
  static __device__ void tell(const RingPair& pair, Watch& watch, uint32_t to, uint32_t sent) {
    if (watch.tell(to, sent)) ring(pair.tx, sent);
    ring(pair.rx, to + pair.rx.size - 1);
  }

  static __device__ void ring(const RingEnd& end, uint32_t position) {
    SystemAtomic<uint32_t>(*end.tail).store(position & (end.size - 1), cuda::memory_order_relaxed);
  }
};

}  // namespace heddle::gpu
