#pragma once

#include <vector>

#include "engine/atoms.h"

namespace heddle {

/** A step of a chain for the synchronisation plan: one element on one processor. */
struct SyncStep {
  Processor processor;
  AtomSet reads, writes;
  std::vector<int>
      next;  ///< steps behind it; lower indices where the chain goes back; none: the packet leaves or is dropped here
  int segment = 0;  ///< steps of one segment on a GPU hand packets on without a way back
};

/** Fields that must be brought up to date before step i, in the direction of its processor: plan_i of Gaviss,
 *  Algorithm 1.
 *
 *  The paper's algorithm, with two corrections that its own oracle (sync_test.cc) asks for: a field that one processor
 *  has overwritten whole is no longer out of date there (else a stale copy would overwrite a newer one at the end), and
 *  a field goes to the GPU when its first reader there comes, not before the first step (else it could move twice). A
 *  chain becomes a graph by taking the union over the ways into a step. At the start the host has every field and the
 *  GPU none. `whole` is what a step without successors that reads `whole` needs: ports send whole packets.
 *
 *  `resident` tells whether the GPU keeps what it has of a packet while others work on it (shared packet buffer; one
 *  GPU). If not, all of it is gone when the packet leaves a segment, so what somebody reads later must come back with
 *  it; such fields are in to_cpu of the first step behind, whatever runs that (a field dirty on the GPU is flushed at
 *  the hand-over). */
struct SyncPlan {
  std::vector<AtomSet> to_gpu, to_cpu;  ///< one entry a step
};
SyncPlan synchronise(const std::vector<SyncStep>& steps, bool resident);

}  // namespace heddle
