#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/packet_pool.h"
#include "io/dpdk/dpdk.h"
#include "io/softnic/dma.h"

/** The part of a NIC, played by threads of this program: frames of a DPDK port go into a receive ring and come from a
 *  transmit ring (ixgbe.h) that somebody else drives as he would drive the chip: by descriptors, done bits and
 *  tails. */
namespace heddle::softnic {

// What the 82599 has (datasheet, RDLEN and SRRCTL.BSIZEPACKET; descriptors: as many as the drivers of the kernel and of
// DPDK allow).
constexpr uint32_t kMinDescriptors = 32, kMaxDescriptors = 4096, kMaxQueues = 8;
constexpr uint32_t kBufferUnit = 1024, kMaxBuffer = 16 * kBufferUnit;
constexpr uint32_t kBatch = 1024;   ///< descriptors of a transfer, at most
constexpr uint32_t kTransfers = 3;  ///< of a ring that may be under way

/** Has a port that has been asked for configured for so many receivers and transmitters, with a queue of its own for
 *  each receiver, and buffers of so many bytes. */
void request_queues(dpdk::Port& port, int receivers, int transmitters, uint32_t buffer_bytes);

/** What becomes of frames that do not get through. */
struct Counts {
  std::atomic<uint64_t> bad_length{0};   ///< the port's driver gave a frame more bytes than its buffer has, or none
  std::atomic<uint64_t> too_large{0};    ///< received: no buffer of the program's, or no ring, held the frame
  std::atomic<uint64_t> unprocessed{0};  ///< received: nobody took them from the ring before the end
  std::atomic<uint64_t> malformed{0};    ///< a descriptor made no sense, or no packet held what was to be sent
  std::atomic<uint64_t> too_long{0};     ///< to be sent: for the port
  std::atomic<uint64_t> unsent{0};       ///< the port took them no more before the end
  std::atomic<uint64_t> received{0};     ///< not lost: frames that are in the ring
  std::atomic<uint64_t> sent{0};         ///< not lost: the port has taken them
};

/** Host memory that the GPU reaches, for one ring. */
struct Host {
  alignas(128) uint32_t done;     ///< the stamp of the last transfer that is done
  alignas(128) uint32_t refused;  ///< empty buffers that did not lie where they may
  alignas(128) Piece pieces[kTransfers][kBatch];
};

/** Of one ring, in memory that the NIC and who drives the ring share. */
struct Register {
  alignas(128) uint32_t tail;  ///< the doorbell: an index, written by who drives the ring
};

/** One ring as its NIC has it. What it points to outlives the object. */
struct Ring {
  ixgbe::Descriptor* descriptors;  ///< [size], device memory
  uint32_t size;                   ///< a power of two
  Window buffers;
  const Register* doorbell;
  Host* host;
  Dma* dma;
};

/** A thread that moves frames between a ring and the queues of a port. */
class Mover {
 public:
  Mover(const Ring& ring, const dpdk::Port& port, uint16_t queue, Counts& counts)
      : ring_(ring), port_(&port), queue_(queue), counts_(counts) {}
  virtual ~Mover() = default;
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  void start();
  /** Returns when its thread does nothing until go_on(); what has been begun may be under way. */
  void pause();
  void go_on();
  /** Another object of the same port. While it is paused. */
  void use(const dpdk::Port& port) { port_ = &port; }
  /** A hint, before stop(): takes nothing new. */
  void close() { closed_.store(true, std::memory_order_relaxed); }
  /** Ends it when all that has come is through, or nothing has moved for two seconds; after 20 seconds in any case, for
   *  who drives the ring may move its tail for ever. */
  void stop();

 protected:
  /** Packets of a transfer. */
  struct Batch {
    Packet* packets[kBatch];
    uint32_t count = 0, sent = 0;
    bool ready = false;  ///< to be sent
  };

  virtual bool begin(bool closed) = 0;  ///< a transfer, with nothing new if `closed`; false if there is nothing to do
  virtual bool finish() = 0;            ///< what is done; false if nothing is
  virtual bool is_through() const = 0;  ///< whether nothing is left to do, when no transfer is under way

  /** Descriptors from the head on that the NIC owns. */
  uint32_t owned() const {
    return (__atomic_load_n(&ring_.doorbell->tail, __ATOMIC_ACQUIRE) - head_) & (ring_.size - 1);
  }
  bool has_room() const { return begun_ - finished_ < kTransfers; }
  Batch& newest() { return batches_[begun_ % kTransfers]; }
  Piece* pieces() const { return ring_.host->pieces[begun_ % kTransfers]; }
  /** Starts the transfer of pieces() to or from the next `count` descriptors. */
  void transfer(bool receives, uint32_t count);
  /** The oldest transfer that has not been finished, if it is done; else null. */
  Batch* done();

  const Ring ring_;
  const dpdk::Port* port_;
  const uint16_t queue_;
  Counts& counts_;
  uint32_t head_ = 0;                  ///< free-running; a descriptor is the NIC's own from the transfer on
  uint32_t begun_ = 0, finished_ = 0;  ///< transfers
  Batch batches_[kTransfers];

 private:
  void run();
  void move_frames();
  void wait_if_paused();

  std::atomic<bool> closed_{false}, stopping_{false};
  std::atomic<bool> paused_{false}, rests_{false};  // what is wanted of the thread, and whether it is so, or has ended
  std::thread thread_;
};

/** Frames from queues `queue`, `queue` + `step`, ... of the port. One that is longer than the buffers fills several
 *  descriptors. */
class Receiver final : public Mover {
 public:
  Receiver(const Ring& ring, const dpdk::Port& port, uint16_t queue, uint16_t step, uint32_t buffer_bytes,
           Counts& counts)
      : Mover(ring, port, queue, counts), step_(step), buffer_bytes_(buffer_bytes) {}
  /** Frees and counts what is left. The GPU drives the ring no more. */
  ~Receiver() override;
  /** Nobody takes what is in the ring: stop() does not wait for it. Before stop(). */
  void give_up() { given_up_.store(true, std::memory_order_relaxed); }

 private:
  bool begin(bool closed) override;
  bool finish() override;
  bool is_through() const override;
  void poll(uint32_t most);
  bool is_right(Packet* packet);

  const uint16_t step_;
  const uint32_t buffer_bytes_;
  Packet* held_[kBatch];  // from the port, without descriptors so far
  uint32_t next_ = 0, held_count_ = 0;
  uint32_t refused_ = 0;  // that have been counted
  std::atomic<bool> given_up_{false};
};

/** Frames to one queue of the port, whose packets come from `pool`. While the port takes nothing, descriptors are not
 *  fetched. */
class Transmitter final : public Mover {
 public:
  /** `sending`: who has it uses the queue; it outlives the object. */
  Transmitter(const Ring& ring, const dpdk::Port& port, uint16_t queue, std::mutex& sending, PacketPool& pool,
              Counts& counts)
      : Mover(ring, port, queue, counts), sending_(sending), pool_(pool) {}
  /** As Receiver's. */
  ~Transmitter() override;

 private:
  bool begin(bool closed) override;
  bool finish() override;
  bool is_through() const override;
  void prepare(Batch& batch);
  void drop(Batch& batch);

  std::mutex& sending_;
  PacketPool& pool_;
};

}  // namespace heddle::softnic
