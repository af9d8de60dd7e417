#include "io/softnic/link.h"

#include "core/error.h"

namespace heddle::softnic {

void Link::send(const Message& message, std::span<const int> files) {
  closed_ = !memif::send_packet(socket_, std::as_bytes(std::span(&message, 1)), files) || closed_;
}

void Link::refuse(const std::string& why) {
  Message message{.type = Message::Type::refused};
  message.text.set(why);
  send(message);
}

std::optional<Link::Received> Link::receive() {
  Received received;
  auto files =
      memif::receive_packet(socket_, std::as_writable_bytes(std::span(&received.message, 1)), kMaxFiles, closed_);
  if (!files) return {};
  const Message& message = received.message;
  if (message.magic != kMagic) throw Error("what came is no message of a soft NIC");
  if (message.version != kVersion)
    throw Error(
        format("the other end speaks version %u, this one %u; run the same heddle at both", message.version, kVersion));
  if (message.type == Message::Type::refused) throw Error(message.text.text());
  received.files = std::move(*files);
  return received;
}

}  // namespace heddle::softnic
