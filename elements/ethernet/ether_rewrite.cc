#include "elements/ethernet/ether_rewrite.h"

#include <array>

#include "click/arguments.h"

namespace heddle {

void EtherRewrite::configure(click::Arguments& arguments) {
  click::EthernetAddress src, dst;
  arguments.required("SRC", src).required("DST", dst);
  src_.store(src), dst_.store(dst);
}

std::span<const char* const> EtherRewrite::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short"};
  return kReasons;
}

void EtherRewrite::run_cpu(Batch& batch) {
  std::array<uint8_t, 12> addresses;
  const click::EthernetAddress src = src_.load(), dst = dst_.load();
  std::memcpy(addresses.data(), dst.bytes.data(), 6);
  std::memcpy(addresses.data() + 6, src.bytes.data(), 6);
  for (int i = 0; i < batch.size(); ++i) {
    if (batch.length(i) < addresses.size())
      batch.drop(i, 0);
    else
      std::memcpy(batch.frame(i), addresses.data(), addresses.size());
  }
}

void EtherRewrite::handlers(Handlers& list) {
  list.read("src", [this] { return to_text(src_.load()); })
      .write("src", [this](const std::string& value) { src_.store(click::value_of<click::EthernetAddress>(value)); })
      .read("dst", [this] { return to_text(dst_.load()); })
      .write("dst", [this](const std::string& value) { dst_.store(click::value_of<click::EthernetAddress>(value)); });
}

HEDDLE_ELEMENT(EtherRewrite);

}  // namespace heddle
