#pragma once

#include "elements/basic/queue.h"

namespace heddle {

/** FrontDropQueue: keeps packets until they are pulled, the newest ones.
 *
 *      FrontDropQueue([CAPACITY])
 *
 *  As Queue, but when it is full, the packets that have waited longest are dropped ("full") for those that arrive.
 *
 *  Handlers: those of Queue.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> FrontDropQueue(64) -> Unqueue -> Discard;
 */
class FrontDropQueue : public Queue {
 public:
  void run_cpu(Batch& batch) override;

 private:
  std::atomic_flag pushing_;
};

}  // namespace heddle
