#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/batch.h"
#include "engine/lane.h"
#include "engine/plan.h"
#include "gpu/device.h"
#include "gpu/slot_ring.h"

namespace heddle {

using GpuExit = LaneExit;

/** A GPU segment, ready to run: its program on the device and its exits. Shared by all threads. */
struct GpuSegment {
  gpu::Device* device;
  LaunchMode launch;
  int program;
  std::vector<int> nodes;  ///< nodes of the router, in the program's order
  std::vector<GpuExit> exits;
  int appends;        ///< most bytes that the segment appends to a packet
  bool word_has_dst;  ///< words carry the column dst, see gpu/slot.h
  ColumnSet columns_in, columns_out;
  ColumnSet columns_kept;  ///< columns that somebody behind reads and the GPU does not write: they wait on the host
  std::byte* packet_base;  ///< of the packet memory

  /** Builds the program of `plan.segments[segment]` and puts it on `device`. */
  static GpuSegment make(const Router& router, const Plan& plan, int segment, gpu::Device& device,
                         std::byte* packet_base);
};

/** The way through a GPU segment: fills slots from batches, and collects what comes back. */
class GpuLane : public Lane {
 public:
  GpuLane(const GpuSegment& segment, gpu::SlotGroup slots);

  std::span<const LaneExit> exits() const override { return segment_.exits; }
  ColumnSet columns_behind() const override { return segment_.columns_kept | segment_.columns_out; }
  int capacity() const override { return ring_.count() * gpu::kTile; }
  int feed(Batch& batch, int first) override;
  void flush() override;
  bool poll(Batch& out) override;
  uint64_t fed() const override { return fed_; }
  uint64_t returned() const override { return returned_; }
  std::string failure() override;
  void abandon(Batch& out) override;

 private:
  /** What the host remembers of a slot in flight. */
  struct Held {
    Packet* packet[gpu::kTile];
    uint32_t column[kColumns][gpu::kTile];
    int count;
  };
  /** Hands packets [first, first + kTile) of `batch`, or as many as there are, to the GPU in slot `index`; returns how
   *  many. */
  int submit(Batch& batch, int first, int index);
  void take_back(Batch& batch, int index, bool done);
  /** Whether the oldest slot's packets fit into `batch`. */
  bool fits(const Batch& batch) const {
    return batch.size() + held_[static_cast<size_t>(ring_.oldest())].count <= batch.capacity();
  }

  const GpuSegment& segment_;
  gpu::SlotGroup slots_;
  gpu::SlotRing ring_;
  std::unique_ptr<Held[]> held_;     // [slots]
  uint64_t fed_ = 0, returned_ = 0;  // packets
  int to_launch_ = 0;                // launch mode sync: slots that wait for flush()
  std::string failure_;              // of a launch
};

}  // namespace heddle
