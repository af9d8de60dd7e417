#include "elements/basic/unqueue.h"

#include <algorithm>
#include <climits>

#include "click/arguments.h"
#include "elements/basic/queue.h"

namespace heddle {

void Unqueue::configure(click::Arguments& arguments) {
  int burst = burst_;
  bool active = active_;
  int64_t limit = limit_;
  arguments.optional("BURST", burst).keyword("ACTIVE", active).keyword("LIMIT", limit);
  burst_ = burst, active_ = active, limit_ = limit;
}

int Unqueue::demand(int) {
  if (!active_.load(std::memory_order_relaxed)) return -1;
  const int burst = burst_.load(std::memory_order_relaxed);
  const int64_t wanted = burst > 0 ? burst : INT_MAX;
  const int64_t limit = limit_.load(std::memory_order_relaxed);
  if (limit < 0) return static_cast<int>(wanted);
  const int64_t left = limit - static_cast<int64_t>(count_.load(std::memory_order_relaxed));
  return left <= 0 ? -1 : static_cast<int>(std::min(wanted, left));
}

void Unqueue::run_cpu(Batch& batch) {
  count_.fetch_add(static_cast<uint64_t>(batch.size()), std::memory_order_relaxed);
}

void Unqueue::handlers(Handlers& list) {
  list.read("count", [this] { return std::to_string(count_.load()); })
      .write("reset", [this](const std::string&) { count_ = 0; })
      .read("active", [this] { return std::string(active_ ? "true" : "false"); })
      .write("active", [this](const std::string& value) { active_ = click::value_of<bool>(value); })
      .read("limit", [this] { return std::to_string(limit_.load()); })
      .write("limit", [this](const std::string& value) { limit_ = click::value_of<int64_t>(value); })
      .read("burst", [this] { return std::to_string(burst_.load()); })
      .write("burst", [this](const std::string& value) { burst_ = click::value_of<int>(value); });
}

void Unqueue2::configure(click::Arguments& arguments) {
  int burst = burst_;
  arguments.optional("BURST", burst);
  burst_ = burst;
}

void Unqueue2::link(const Directory&) { queues_ = nearest_storages(*this, true); }

int Unqueue2::demand(int thread) {
  int wanted = Unqueue::demand(thread);
  for (const Storage* queue : queues_)
    wanted = std::min(wanted, static_cast<int>(std::min(queue->room(), static_cast<unsigned>(INT_MAX))));
  // While there is no room nothing is to be done here; whoever makes some is not done yet.
  return wanted == 0 ? -1 : wanted;
}

void Burster::configure(click::Arguments& arguments) {
  arguments.required("INTERVAL", interval_).required("BURST", burst_, 1, 1 << 20);
  if (interval_.microseconds == 0) arguments.error("INTERVAL", "a time of a microsecond or more");
}

bool Burster::begins() {
  if (next_ == RouterClock::time_point{}) next_ = RouterClock::now() + interval();
  if (!RouterClock::reached(next_)) return false;
  next_ += interval();
  if (next_ <= RouterClock::now()) next_ = RouterClock::now() + interval();
  return true;
}

int Burster::demand(int) {
  if (stopping_()) return burst_;
  // What was not there when it asked is of the next burst.
  if (left_ > 0 && !came_) left_ = 0;
  if (left_ == 0) {
    if (!begins()) return 0;
    left_ = burst_;
  }
  came_ = false;
  return left_;
}

void Burster::run_cpu(Batch& batch) {
  left_ = std::max(left_ - batch.size(), 0);
  came_ = true;
}

void TimedUnqueue::configure(click::Arguments& arguments) {
  arguments.required("INTERVAL", interval_).optional("BURST", burst_, 1, 1 << 20);
  if (interval_.microseconds == 0) arguments.error("INTERVAL", "a time of a microsecond or more");
}

void TimedUnqueue::run_cpu(Batch& batch) {
  if (left_ == burst_) next_ = RouterClock::now() + interval();
  Burster::run_cpu(batch);
}

HEDDLE_ELEMENT(Burster);
HEDDLE_ELEMENT(TimedUnqueue);
HEDDLE_ELEMENT(Unqueue);
HEDDLE_ELEMENT(Unqueue2);

}  // namespace heddle
