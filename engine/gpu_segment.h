#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "core/table.h"
#include "engine/plan.h"
#include "gpu/device.h"

namespace heddle {

/** A GPU segment, ready to run: its program on the device. Shared by all threads. */
class GpuSegment {
 public:
  /** Puts the program of `plan.segments[index]` on `device`. `tables`: by node of the segment. */
  GpuSegment(const Router& router, const Plan& plan, int index, gpu::Device& device, std::vector<gpu::TableId> tables,
             std::byte* packet_base);

  gpu::Device& device() const { return device_; }
  const Segment& plan() const { return plan_; }
  std::byte* packet_base() const { return packet_base_; }  ///< of the packet memory
  /** The first program, which has the shape and size of all that follow; its number never changes. Any thread. */
  gpu::ProgramId program() const { return program_; }
  /** The program that slots are to run from now on, in device memory. Any thread. */
  const gpu::Program* current() const { return current_.load(std::memory_order_acquire); }
  /** How often it has changed. Programs cannot be told apart by address: the memory of one that is gone may be
   *  another's. */
  uint64_t changes() const { return changes_.load(std::memory_order_acquire); }

  /** The number of the current program. Any thread. */
  gpu::ProgramId newest() const { return newest_.load(std::memory_order_acquire); }

  /** Makes a program with table `to` in the place of `from` current; returns the one before, for the caller to remove
   *  when no slot runs it any more. */
  gpu::ProgramId change_table(gpu::TableId from, gpu::TableId to);

  /** Packets and bytes that have come to the k-th node, k > 0 or one that receives from rings. Any thread. */
  std::pair<uint64_t, uint64_t> counts(size_t k) const;
  /** Of a segment with rings: packets that have been dropped, by exit. Any thread. */
  std::vector<gpu::RingCount> exit_counts() const;
  /** What the k-th node's function keeps, or none. */
  gpu::StateId state(size_t k) const { return spec_.nodes[k].state; }
  gpu::StateId exit_counts_id() const { return exit_counts_; }

 private:
  gpu::Device& device_;
  const Segment& plan_;
  std::byte* packet_base_;
  gpu::ProgramSpec spec_;
  gpu::ProgramId program_;              // the first one
  std::atomic<gpu::ProgramId> newest_;  // that is current
  gpu::StateId exit_counts_ = gpu::StateId::none;
  std::atomic<const gpu::Program*> current_;
  std::atomic<uint64_t> changes_{0};
};

/** What a node's function keeps on a device, for readers on any thread. */
class StateReader {
 public:
  StateReader(gpu::Device& device, gpu::StateId state) : device_(&device), state_(state) {}
  /** See KeepsGpuState::read_gpu_state. */
  bool read(size_t offset, std::span<std::byte> to);
  /** The device is going. */
  void close();

 private:
  std::mutex reading_;
  gpu::Device* device_;  // null: gone
  gpu::StateId state_;
};

/** The copy of a table on a device, for all of its segments there. Follows the table from its construction on: owner
 *  calls and this object's own are made by one thread at a time. */
class TableCopy : public Retiring {
 public:
  TableCopy(Table& table, gpu::Device& device);
  /** Frees the copy, which no kernel reads any more, and leaves the table, which must still be there. */
  ~TableCopy() override;

  gpu::TableId id() const { return id_; }
  void used_by(GpuSegment& segment) { segments_.push_back(&segment); }

  // Generations that a replacement of the whole table has left behind.
  bool has_retired() const override { return !old_tables_.empty(); }
  void reclaim() override;

 private:
  /** A change that the device cannot follow ends its service, for its answers would no longer be the host's. */
  template <class Change>
  void follow(const Change& change);
  void replace();

  Table& table_;
  gpu::Device& device_;
  gpu::TableId id_;
  std::vector<GpuSegment*> segments_;
  std::vector<gpu::TableId> old_tables_;
  std::vector<gpu::ProgramId> old_programs_;
  bool stopped_ = false;  // it could not follow a change
};

}  // namespace heddle
