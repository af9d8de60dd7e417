#pragma once

#include <algorithm>
#include <vector>

#include "click/values.h"
#include "elements/basic/queue.h"
#include "elements/endpoints/generator.h"

namespace heddle {

/** Sources that make packets as fast as the chain takes them: BURST at a time, and none while all of the Queues are
 *  full that they are pushed into. `Base`: Generator or a class of it. */
template <class Base>
class Bursts : public Base {
 public:
  void link(const Directory&) override { queues_ = nearest_storages(*this, true); }

  void receive(Batch& batch) override {
    const int wanted = std::min(burst_.load(std::memory_order_relaxed), batch.room() - batch.size());
    make(batch, this->allowed(awaited(wanted)));
  }

  void handlers(Handlers& list) override {
    Base::handlers(list);
    list.read("burst", [this] { return std::to_string(burst_.load()); })
        .write("burst", [this](const std::string& value) { burst_ = click::value_of<int>(value, 1, kMaxAtOnce); });
    // As in Click: false while it waits for room, and when it has made all there are to be.
    if (const Handler* const task = list.find("scheduled"); task != nullptr)
      list.read("scheduled", [this, scheduled = task->read] {
        return this->allowed(awaited(1)) > 0 ? scheduled({}) : std::string("false");
      });
  }

 protected:
  static constexpr int kMaxAtOnce = 1 << 20;

  /** Appends up to `n` packets. */
  virtual void make(Batch& batch, int n) = 0;

  std::atomic<int> burst_{1};

 private:
  /** How many of `wanted` packets the queues have room for. */
  int awaited(int wanted) const {
    unsigned most = queues_.empty() ? static_cast<unsigned>(wanted) : 0;
    for (const Storage* queue : queues_)
      most = std::max(most, queue->awaited_room().value_or(static_cast<unsigned>(wanted)));
    return std::min(wanted, static_cast<int>(most));
  }

  std::vector<const Storage*> queues_;
};

}  // namespace heddle
