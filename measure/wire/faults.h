#pragma once

#include <rte_mbuf.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "measure/generate/random.h"

namespace heddle::bench {

/** What is done to packets on the way. */
struct Fault {
  enum Kind { kNone, kDrop, kDuplicate, kSwap, kDelay } kind = kNone;
  uint32_t every = 0;  ///< to every n-th packet of a queue
  double share = 0;    ///< or, if that is 0, to each packet with this probability
  uint64_t seed = 1;
  double delay_us = 1000;
};

/** Stands in for a router: passes packets from one port of a wire to another and plants faults, so that what a
 *  generator counts can be compared with what happened. Drop; send twice; swap with the next packet of the same flow;
 *  hold back for a time while others pass. Frames must have signatures. Runs on a thread of its own until it is
 *  destroyed. */
class Faults {
 public:
  /** From `in` to `out`, the router's ends of started ports, with `queues` queues each. `flows`: of the traffic. */
  Faults(uint16_t in, uint16_t out, int queues, uint32_t flows, const Fault& fault);
  ~Faults();
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

  /** What has been done so far. */
  struct Tally {
    uint64_t taken = 0, dropped = 0, duplicated = 0, delayed = 0;
    uint64_t overtaken =
        0;  ///< packets that a later one of their flow has passed: swapped ones, and some of the delayed
  };
  Tally tally() const;

 private:
  struct Held {
    rte_mbuf* packet;
    uint32_t flow;
    uint64_t passed;   ///< packets of its flow until then
    uint64_t release;  ///< when, by the time stamp counter
  };
  struct Queue {
    uint64_t count = 0;
    std::vector<Held> held;  ///< in order of arrival
  };

  void serve();
  void work(uint16_t number, Queue& queue);
  void pass(uint16_t number, Queue& queue, rte_mbuf* packet);
  void release(uint16_t number, Queue& queue, uint32_t swapped_flow);
  void send(uint16_t number, rte_mbuf* packet);
  bool chosen(Queue& queue);

  uint16_t in_, out_;
  Fault fault_;
  Random random_;
  uint64_t delay_ticks_;
  std::vector<Queue> queues_;
  std::vector<uint64_t> passed_;  // [flow], packets sent without being held
  std::atomic<uint64_t> taken_{0}, dropped_{0}, duplicated_{0}, delayed_{0}, overtaken_{0};
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace heddle::bench
