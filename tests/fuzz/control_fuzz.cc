// The control protocol under hostile bytes: a client's bytes, in pieces, go to a Protocol over the handlers of a small
// fake router. Replies must be well formed, and what waits in memory bounded.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "control/broker.h"
#include "control/protocol.h"

namespace {

using heddle::Broker;
using heddle::Handlers;
using heddle::Protocol;

class FakeElement : public heddle::Element {
 public:
  void run_cpu(heddle::Batch&) override {}
  void handlers(Handlers& list) override {
    list.read("value", [this] { return value_; })
        .write("value", [this](const std::string& value) { value_ = value.substr(0, 100); })
        .read_with_argument("echo", [](const std::string& argument) { return argument; })
        .read("fails", []() -> std::string { throw heddle::Error("two\nlines"); })
        .write("fails", [](const std::string& value) { throw heddle::Error(value); });
  }

 private:
  std::string value_;
};

void require(bool good) {
  if (!good) std::abort();
}

// Every reply is a line with a code, and DATA with as many bytes as it says.
void check_replies(std::string_view replies) {
  while (!replies.empty()) {
    const size_t end = replies.find("\r\n");
    require(end != std::string_view::npos && end >= 4);
    const std::string_view line = replies.substr(0, end);
    replies.remove_prefix(end + 2);
    require((line[0] == '2' || line[0] == '5') && (line[3] == ' ' || line[3] == '-'));
    for (const char c : line) require(static_cast<unsigned char>(c) >= 32);
    if (!replies.starts_with("DATA ")) continue;
    const size_t data_end = replies.find("\r\n");
    const size_t bytes = std::stoul(std::string(replies.substr(5, data_end - 5)));
    require(data_end + 2 + bytes <= replies.size());
    replies.remove_prefix(data_end + 2 + bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static FakeElement element;
  static Broker broker = [] {
    element.name = "a/b";
    element.class_name = "Fake";
    return Broker(
        {[](heddle::Element&, const std::function<void()>& change) { change(); }, [] {}, [] { return true; }, [] {}});
  }();
  static const bool added = [] {
    Broker::Members members;
    Broker::add(members, element, "1, 2");
    broker.replace(members);
    return true;
  }();
  if (!added || size < 2) return 0;
  const size_t piece = data[0] + size_t{1};
  const Protocol::Manners manners((data[1] & 1) != 0);
  Protocol protocol(broker, manners);
  std::string_view input(reinterpret_cast<const char*>(data + 2), size - 2);
  std::string replies;
  while (!input.empty()) {
    const std::string_view now = input.substr(0, piece);
    input.remove_prefix(now.size());
    protocol.receive(now);
    while (protocol.step(replies)) {
    }
    require(protocol.waiting() <= Protocol::kMaxBytes + 512);
  }
  protocol.end_of_input();
  while (protocol.step(replies)) {
  }
  require(protocol.closed() && protocol.waiting() == 0);
  check_replies(replies);
  return 0;
}
