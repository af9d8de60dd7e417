#include "elements/basic/switch.h"

#include <algorithm>

#include "click/arguments.h"

namespace heddle {

void Switch::configure(click::Arguments& arguments) {
  int output = 0;
  arguments.optional("OUTPUT", output);
  if (output >= outputs) arguments.error("OUTPUT", format("below the number of outputs, %d", outputs));
  output_ = output;
}

std::span<const char* const> Switch::drop_reasons() const {
  static constexpr const char* kReasons[] = {"switched_off"};
  return kReasons;
}

void Switch::run_cpu(Batch& batch) {
  const int output = output_.load(std::memory_order_relaxed);
  std::fill_n(batch.next(), batch.size(), output < 0 ? kDrop : static_cast<uint16_t>(output));
}

void Switch::handlers(Handlers& list) {
  const auto read = [this] { return std::to_string(output_.load()); };
  const auto write = [this](const std::string& value) {
    const int output = click::value_of<int>(value);
    output_ = output < outputs ? output : -1;
  };
  list.read("switch", read).write("switch", write).read("config", read).write("config", write);
}

HEDDLE_ELEMENT(Switch);

}  // namespace heddle
