#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "elements/basic/queue.h"

namespace heddle {

/** What elements share that turn a packet into another one, which enters the chain again, maybe before the place that
 *  it came from: a Queue that pushes. Drop reason 0 is "full". Where packets are pulled, the other one takes the
 *  packet's place at once, and nothing waits. */
class ReplyQueue : public Queue {
 public:
  bool can_live_reconfigure() const override { return false; }
  const char* processing() const override { return "a/a"; }
  bool changes_length() const override { return true; }
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;

 protected:
  ReplyQueue() { capacity_ = 1024; }
  /** Turns packet `i` into the other one, with all columns that the element writes; or returns the reason (> 0) to drop
   *  it. */
  virtual int turn(Batch& batch, int i) = 0;

 private:
  /** Packets of a thread that are dropped, with their reasons. */
  struct Refused {
    std::vector<std::pair<Packet*, int>> packets;
  };
  std::unique_ptr<Refused[]> refused_;  // by thread
};

}  // namespace heddle
