#include "elements/analysis/ended_flows.h"

#include "click/arguments.h"
#include "core/error.h"

namespace heddle {

void EndedFlows::configure(click::Arguments& arguments) {
  arguments.keyword("NOTIFIER", notifier_);
  if (given()) numbers_.reserve(kMax);
}

void EndedFlows::link(const Directory& directory) {
  if (!given()) return;
  bool found = false;
  for (Element* element : directory(notifier_))
    if (auto* flows = dynamic_cast<AggregateIPFlows*>(element)) {
      flows->add_listener(this);
      found = true;
    }
  if (!found) throw Error("NOTIFIER: '" + notifier_ + "' is no AggregateIPFlows");
}

void EndedFlows::flow_ended(uint32_t number) {
  while (busy_.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
  if (numbers_.size() < kMax) numbers_.push_back(number);
  count_.store(numbers_.size() - next_, std::memory_order_relaxed);
  busy_.clear(std::memory_order_release);
}

}  // namespace heddle
