#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "engine/failure_checks.h"
#include "engine/hand_over.h"
#include "engine/lane.h"

namespace heddle {

/** Drives a lane for other threads, the workers: one thread (the master) feeds it with what they hand over, as it
 *  comes, and hands back to each what is its own. To a worker its way through the master is a lane as any other.
 *  (Thesis, section 2.2.2.) */
class LaneDriver : public std::enable_shared_from_this<LaneDriver> {
 public:
  struct Options {
    int workers;
    int batch;         ///< packets that are fed at a time, at most
    ColumnSet wanted;  ///< columns that the lane reads when it is fed
    int waiting;       ///< packets of a worker on their way, at most, see room()
  };
  LaneDriver(std::unique_ptr<Lane> lane, const Options& options);

  /** Packets that a worker may have on their way through a lane for `capacity`: its share of what the lane holds, and
   *  one batch besides that which is under way. */
  static int room(int capacity, int workers, int batch);

  /** The way of a worker; once for each, before any thread runs. */
  std::unique_ptr<Lane> lane_of(int worker);

  /** Hands back what is done and feeds what waits, once; false: there was nothing. On the master. */
  bool serve();

 private:
  class WorkersLane;

  bool hand_back();
  bool feed();
  /** Takes the next packets that workers have handed over; false: there are none. */
  bool fetch();
  /** The lane has failed: answers what will never be done. */
  bool lose();
  /** Gives up what is in the lane. */
  void abandon();
  void check_failure();
  HandOver& oldest_owner();

  const std::unique_ptr<Lane> lane_;
  std::vector<std::unique_ptr<HandOver>> ways_;  // by worker
  std::vector<uint8_t> owners_;                  // of what is in the lane or waits in batch_, in order: a ring
  uint64_t first_owner_ = 0, next_owner_ = 0;
  Batch batch_, back_;
  int fed_ = 0;        // of batch_
  int turn_ = 0;       // the worker that is asked first
  uint64_t vain_ = 0;  // rounds since something came back
  FailureChecks failure_checks_;
  std::string failure_;
  std::atomic<bool> failed_{false};
};

}  // namespace heddle
