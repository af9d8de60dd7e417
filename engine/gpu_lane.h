#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/batch.h"
#include "engine/plan.h"
#include "gpu/device.h"
#include "gpu/slot_ring.h"

namespace heddle {

/** Where packets leave a GPU segment. */
struct GpuExit {
  int node;    ///< node that the packet leaves from
  int target;  ///< node that it goes to, or -1: dropped
  int reason;  ///< if dropped: index into drop_reasons() of `node`
  int head;    ///< bytes that neutral elements of the segment have moved the packet's start by
};

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

/** One thread's way through a GPU segment: fills slots from batches, and collects what comes back, in order. */
class GpuLane {
 public:
  GpuLane(const GpuSegment& segment, gpu::SlotGroup slots);

  const GpuSegment& segment() const { return segment_; }
  int in_flight() const { return ring_.in_flight(); }
  bool full() const { return ring_.free_slot() < 0; }
  uint64_t submitted() const { return submitted_; }  ///< slots so far
  uint64_t collected() const { return collected_; }

  /** Hands packets [first, first + kTile) of `batch`, or as many as there are, to the GPU; returns how many. Needs a
   *  free slot. */
  int submit(Batch& batch, int first);
  /** Launch mode sync: runs what has been submitted since the last launch; it is done on return. */
  void launch();

  /** Whether collect() would return packets. */
  bool ready() const { return ring_.in_flight() > 0 && ring_.oldest_done(); }
  /** Appends the packets of slots that are done to `batch` while they fit, with next() = index of the exit. */
  void collect(Batch& batch);
  /** After a failure of the device: takes back every packet in flight without looking at results. */
  void abandon(Batch& batch);

 private:
  /** What the host remembers of a slot in flight. */
  struct Held {
    Packet* packet[gpu::kTile];
    uint32_t column[kColumns][gpu::kTile];
    int count;
  };
  void take_back(Batch& batch, int index, bool done);

  const GpuSegment& segment_;
  gpu::SlotGroup slots_;
  gpu::SlotRing ring_;
  std::unique_ptr<Held[]> held_;  // [slots]
  uint64_t submitted_ = 0, collected_ = 0, launched_ = 0;
};

}  // namespace heddle
