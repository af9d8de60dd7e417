#include "elements/basic/suppressor.h"

#include "click/arguments.h"

namespace heddle {

void Suppressor::configure(click::Arguments& arguments) {
  if (inputs != outputs) arguments.error(format("expected as many inputs as outputs, not %d and %d", inputs, outputs));
  suppressed_ = std::make_unique<std::atomic<bool>[]>(static_cast<size_t>(inputs));
}

std::span<const char* const> Suppressor::drop_reasons() const {
  static constexpr const char* kReasons[] = {"suppressed"};
  return kReasons;
}

void Suppressor::run_cpu(Batch& batch) {
  const uint32_t* input = batch.column(Column::input);
  uint16_t* next = batch.next();
  for (int i = 0; i < batch.size(); ++i) {
    const bool drops = !pulled[input[i]] && suppressed_[input[i]].load(std::memory_order_relaxed);
    next[i] = drops ? kDrop : static_cast<uint16_t>(input[i]);
  }
}

int Suppressor::lets_through(int, int input, int wanted) {
  return suppressed_[static_cast<size_t>(input)].load(std::memory_order_relaxed) ? 0 : wanted;
}

void Suppressor::handlers(Handlers& list) {
  for (int i = 0; i < inputs; ++i) {
    std::atomic<bool>& suppressed = suppressed_[static_cast<size_t>(i)];
    const std::string name = format("active%d", i);
    list.read(name, [&suppressed] { return std::string(suppressed ? "false" : "true"); })
        .write(name, [&suppressed](const std::string& value) { suppressed = !click::value_of<bool>(value); });
  }
  list.write("reset", [this](const std::string&) {
    for (int i = 0; i < inputs; ++i) suppressed_[static_cast<size_t>(i)] = false;
  });
}

HEDDLE_ELEMENT(Suppressor);

}  // namespace heddle
