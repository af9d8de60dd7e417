#include "elements/basic/unqueue.h"

#include <algorithm>
#include <climits>

#include "click/arguments.h"

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

HEDDLE_ELEMENT(Unqueue);

}  // namespace heddle
