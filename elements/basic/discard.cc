#include "elements/basic/discard.h"

#include <climits>

#include "click/arguments.h"

namespace heddle {

void Discard::configure(click::Arguments& arguments) {
  bool active = true;
  arguments.keyword("ACTIVE", active).keyword("BURST", burst_, 0);
  active_ = active;
  if (burst_ == 0) burst_ = INT_MAX;
}

int Discard::demand(int) { return active_.load(std::memory_order_relaxed) ? burst_ : -1; }

void Discard::run_cpu(Batch& batch) {
  counts_[batch.thread].add(static_cast<uint64_t>(batch.size()), 0);
  batch.free_packets();
}

void Discard::handlers(Handlers& list) {
  list.read("count", [this] { return std::to_string(counts_.packets()); })
      .write("reset_counts", [this](const std::string&) { counts_.reset(); })
      .read("active", [this] { return std::string(active_ ? "true" : "false"); })
      .write("active", [this](const std::string& value) { active_ = click::value_of<bool>(value); });
}

HEDDLE_ELEMENT(Discard);

}  // namespace heddle
