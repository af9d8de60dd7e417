#include "elements/basic/bypass.h"

#include <algorithm>

#include "click/arguments.h"

namespace heddle {

void Bypass::configure(click::Arguments& arguments) {
  bool active = false, inlined = false;
  arguments.optional("ACTIVE", active).keyword("INLINE", inlined);
  active_ = active;
}

void Bypass::run_cpu(Batch& batch) {
  if (active() && outputs > 1 && !pulled[0]) std::fill_n(batch.next(), batch.size(), uint16_t{1});
}

int Bypass::choose(int attempt) {
  chosen_ = attempt > 0 ? -1 : active() && inputs > 1 ? 1 : 0;
  return std::max(chosen_, 0);
}

void Bypass::handlers(Handlers& list) {
  list.read("active", [this] { return std::string(active_ ? "true" : "false"); })
      .write("active", [this](const std::string& value) { active_ = click::value_of<bool>(value); });
}

HEDDLE_ELEMENT(Bypass);

}  // namespace heddle
