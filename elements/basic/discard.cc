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

void Discard::run_cpu(Batch& batch) { batch.free_packets(); }

void Discard::handlers(Handlers& list) {
  list.read("active", [this] { return std::string(active_ ? "true" : "false"); })
      .write("active", [this](const std::string& value) { active_ = click::value_of<bool>(value); });
}

HEDDLE_ELEMENT(Discard);

}  // namespace heddle
