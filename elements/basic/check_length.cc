#include "elements/basic/check_length.h"

#include "click/arguments.h"

namespace heddle {

void CheckLength::configure(click::Arguments& arguments) {
  uint32_t most = 0;
  arguments.required("LENGTH", most).keyword("EXTRA_LENGTH", extra_length_);
  most_ = most;
}

std::span<const char* const> CheckLength::drop_reasons() const {
  static constexpr const char* kReasons[] = {"too_long"};
  return kReasons;
}

void CheckLength::run_cpu(Batch& batch) {
  const uint32_t most = most_.load(std::memory_order_relaxed);
  const uint16_t elsewhere = outputs > 1 ? 1 : kDrop;
  for (int i = 0; i < batch.size(); ++i) {
    const Packet* packet = batch.packet(i);
    uint64_t bytes = length(packet);
    if (extra_length_ && has_capture_info(packet)) bytes += capture_info(packet).missing_bytes;
    if (bytes > most) batch.next()[i] = elsewhere;
  }
}

void CheckLength::handlers(Handlers& list) {
  list.read("length", [this] { return std::to_string(most_.load()); }).write("length", [this](const std::string& text) {
    most_ = click::value_of<uint32_t>(text);
  });
}

HEDDLE_ELEMENT(CheckLength);

}  // namespace heddle
