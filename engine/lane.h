#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/batch.h"

namespace heddle {

/** Where packets leave a lane. */
struct LaneExit {
  int node;    ///< node that the packet leaves from
  int target;  ///< node that it goes to, or -1: dropped
  int reason;  ///< if dropped: index into drop_reasons() of `node`
  int head;    ///< bytes by which the packet's start has moved on the way
};

/** Bytes that have crossed the bus by a lane's own doing: slot words, columns, results, and packets where a transport
 *  copies them. Not what kernels read and write in place. */
struct LaneBytes {
  uint64_t to_gpu = 0, from_gpu = 0;
  uint64_t landed = 0, landing_full = 0;  ///< transport landing, packets: that have landed, that there was no room for
};

/** One thread's way through a segment on another processor. Packets are fed, and come back in the order of feeding; the
 *  thread does other things meanwhile. How the other processor learns of them (launches, words that it polls) is the
 *  lane's affair. One thread uses a lane.
 *
 *  A lane whose other processor takes packets in by itself, from a ring of a port, is one that nobody feeds: no task
 *  leads to it, fed() follows the index up to which the ring has been read, poll() returns those packets alone that
 *  leave to this processor, and returned() follows the index up to which all are done, wherever they went. One whose
 *  other processor sends packets by itself has an exit for them less: such packets count in returned() and poll() never
 *  shows them. Epochs and the end of the program need only these two numbers, so they hold for all kinds. */
class Lane {
 public:
  virtual ~Lane() = default;

  /** Where packets can leave: poll() gives indices into it. */
  virtual std::span<const LaneExit> exits() const = 0;
  /** Columns that packets have when they come back. */
  virtual ColumnSet columns_behind() const = 0;
  /** Most packets in flight. */
  virtual int capacity() const = 0;

  /** Takes packets of `batch` from `first` on, as many as it can now; returns how many (0: it is full). */
  virtual int feed(Batch& batch, int first) = 0;
  /** What has been fed will be done without another feed(). */
  virtual void flush() = 0;
  /** Appends packets that are done to `out`, in order of feeding, while they fit, with next() = index of the exit;
   *  false: none. */
  virtual bool poll(Batch& out) = 0;

  /** Packets fed and returned so far. */
  virtual uint64_t fed() const = 0;
  virtual uint64_t returned() const = 0;
  int in_flight() const { return static_cast<int>(fed() - returned()); }

  /** So far; any thread may ask. */
  virtual LaneBytes bytes() const = 0;

  /** "", or why packets in flight will never be done. */
  virtual std::string failure() = 0;
  /** Whether the other processor does nothing any more, so that packets in flight may be used again. */
  virtual bool is_dead() = 0;
  /** After a failure: appends packets in flight to `out` while they fit, next() untouched. */
  virtual void abandon(Batch& out) = 0;
};

}  // namespace heddle
