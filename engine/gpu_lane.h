#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/batch.h"
#include "core/column_pack.h"
#include "engine/gpu_segment.h"
#include "engine/landing_area.h"
#include "engine/lane.h"
#include "engine/packet_copy.h"
#include "engine/staging.h"
#include "gpu/slot_ring.h"

namespace heddle {

/** The way through a GPU segment: fills slots from batches, and collects what comes back. */
class GpuLane : public Lane {
 public:
  /** `staging`: in packet memory, for transports that pack; at least kMinStagingBytes then. `area`: for transport
   *  landing. */
  GpuLane(const GpuSegment& segment, gpu::SlotGroup slots, std::span<std::byte> staging, LandingArea* area);
  /** For the longest packet, with the room that it needs around it. */
  static constexpr size_t kMinStagingBytes = size_t{128} << 10;
  static_assert(kMinStagingBytes > kMaxBufferBytes + 2 * Staging::kAlignment);

  /** Transport commlist: most that a list has, as in the thesis. */
  static constexpr int kListPackets = 1024;

  std::span<const LaneExit> exits() const override { return plan_.exits; }
  ColumnSet columns_behind() const override { return plan_.columns_kept | plan_.columns_out; }
  int capacity() const override { return ring_.count() * gpu::kSlotPackets; }
  int feed(Batch& batch, int first) override;
  void flush() override;
  bool poll(Batch& out) override;
  uint64_t fed() const override { return fed_; }
  uint64_t returned() const override { return returned_; }
  LaneBytes bytes() const override {
    return {to_gpu_.load(kRelaxed), from_gpu_.load(kRelaxed), landed_.load(kRelaxed), landing_full_.load(kRelaxed)};
  }
  std::string failure() override;
  bool is_dead() override;
  void abandon(Batch& out) override;
  /** The device has ended its kernels, with no packet in flight here, and started them again. */
  void begin_anew() { ring_ = gpu::SlotRing(ring_.group(), program_); }

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;

  /** What the host remembers of a slot in flight. */
  struct Held {
    Packet* packet[gpu::kSlotPackets];
    uint64_t place[gpu::kSlotPackets];      // of its words: kept, for the packets have left the cache meanwhile
    uint64_t staged_until;                  // for Staging::give_back()
    LandingArea::Places* places = nullptr;  // where they land; null: nowhere
    int count;
  };
  /** Hands packets [first, first + kSlotPackets) of `batch`, or as many as there are and staging memory can hold at
   *  once, to the GPU in slot `index`; returns how many, 0 if what is in flight must give staging memory back first. */
  int submit(Batch& batch, int first, int index);
  /** Launches the `count` slots that were submitted last, with the copies before and behind. Throws Error. */
  void launch(int count);
  void take_back(Batch& batch, int index, bool done);
  /** Packs what the plan wants of the packets that `held` has, from then on no more of them than staging memory can
   *  hold at once; false: what is in flight leaves no room. */
  bool pack(Held& held);
  /** Brings what the GPU has changed of one back to it, before its ends are moved. */
  void unpack(Packet* packet, const std::byte* packed, gpu::Outcome outcome, int head) const;
  /** Takes places for the packets that `held` has to land in, and names them in the slot. */
  void take_places(Held& held, gpu::Slot& slot);
  /** Packets of the slot that are done get the places as buffers, those that are dropped give theirs back. `moved`: by
   *  how much their starts, from their buffers', have moved thereby. */
  void land(Held& held, int index, int* moved);
  /** Lists what the copy engine is to bring to the GPU and back of the packets that `held` has, which lie where they
   *  are. */
  void list(const Held& held);
  /** Copies these bytes to the GPU or back. */
  void copy(std::span<const gpu::PacketBytes> bytes, bool to_gpu);
  /** Whether the oldest slot in flight is done, and what comes back with it is there. */
  bool oldest_done();
  /** By how many bytes the starts of packets with this outcome have moved. */
  int head_of(gpu::Outcome outcome) const { return plan_.wide_results ? outcome.head : plan_.exits[outcome.exit].head; }
  /** Bytes that transport gather writes back of the packets of a slot that is done. */
  uint64_t written_back(const Held& held, int index) const;
  /** Whether the oldest slot's packets fit into `batch`. */
  bool fits(const Batch& batch) const {
    return batch.size() + held_[static_cast<size_t>(ring_.oldest())].count <= batch.capacity();
  }
  /** Copies `columns` between packets [first, first + count) of `batch` and the slot's columns at `at`. Header columns
   *  there count from the packet's start. */
  template <bool kIn>
  static void copy_columns(ColumnSet columns, Batch& batch, int first, int count, uint32_t* at);

  const GpuSegment& segment_;
  const Segment& plan_;
  gpu::SlotRing ring_;
  Staging staging_;
  LandingArea* const area_;
  const bool copies_;             // the copy engine copies, before launches or behind them
  const bool moves_;              // packets' starts or ends may have moved when they come back
  uint64_t changes_;              // of the segment's program, when the ring was told of it
  const gpu::Program* program_;   // that the ring's slots run
  std::unique_ptr<Held[]> held_;  // [slots]
  ColumnPack kept_columns_;
  std::unique_ptr<std::byte[]> kept_;  // [slots][kSlotPackets][kept_columns_.bytes()]
  uint64_t fed_ = 0, returned_ = 0;    // packets
  /** A launch with copies, whose packets are there when its stream is idle. */
  struct Launch {
    int slots;  // not yet taken back
    int stream;
    bool landed = false, failed = false;
  };
  std::deque<Launch> launches_;
  std::vector<gpu::PacketBytes> copies_in_, copies_out_;  // of what is to be launched
  int to_launch_ = 0;                                     // not persistent: slots that wait for flush()
  int stream_ = 0;                                        // that the next launch is on
  const uint64_t bytes_to_gpu_, bytes_from_gpu_;          // of a slot, across PCIe
  std::atomic<uint64_t> to_gpu_{0}, from_gpu_{0}, landed_{0}, landing_full_{0};
  std::string failure_;  // of a launch
};

}  // namespace heddle
