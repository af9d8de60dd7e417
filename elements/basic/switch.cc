#include "elements/basic/switch.h"

#include <algorithm>

#include "click/arguments.h"

namespace heddle {
namespace {

constexpr const char* kReasons[] = {"switched_off"};

/** Handlers of a port's number, of `ports`; another number is -1. */
void add_handlers(Handlers& list, std::atomic<int>& port, const int& ports) {
  const auto read = [&port] { return std::to_string(port.load()); };
  const auto write = [&port, &ports](const std::string& value) {
    const int number = click::value_of<int>(value);
    port = number < ports ? number : -1;
  };
  list.read("switch", read).write("switch", write).read("config", read).write("config", write);
}

}  // namespace

void Switch::configure(click::Arguments& arguments) {
  int output = 0;
  arguments.optional("OUTPUT", output);
  if (output >= outputs) arguments.error("OUTPUT", format("below the number of outputs, %d", outputs));
  output_ = output;
}

std::span<const char* const> Switch::drop_reasons() const { return kReasons; }

void Switch::run_cpu(Batch& batch) {
  const int output = output_.load(std::memory_order_relaxed);
  std::fill_n(batch.next(), batch.size(), output < 0 ? kDrop : static_cast<uint16_t>(output));
}

void Switch::handlers(Handlers& list) { add_handlers(list, output_, outputs); }

void InputSwitch::configure(click::Arguments& arguments) {
  int input = 0;
  arguments.optional("INPUT", input);
  if (input >= inputs) arguments.error("INPUT", format("below the number of inputs, %d", inputs));
  input_ = input;
}

std::span<const char* const> InputSwitch::drop_reasons() const { return kReasons; }

void InputSwitch::run_cpu(Batch& batch) {
  const uint32_t* input = batch.column(Column::input);
  const int open = input_.load(std::memory_order_relaxed);
  for (int i = 0; i < batch.size(); ++i)
    if (static_cast<int>(input[i]) != open) batch.drop(i, 0);
}

void InputSwitch::handlers(Handlers& list) { add_handlers(list, input_, inputs); }

HEDDLE_ELEMENT(Switch);
HEDDLE_ELEMENT(InputSwitch);

}  // namespace heddle
