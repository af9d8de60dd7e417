#include "io/softnic/remote.h"

#include <poll.h>

#include "core/error.h"

namespace heddle::softnic {
namespace {

constexpr std::chrono::milliseconds kBetweenCalls{100};
constexpr std::chrono::seconds kGreetingTime{5}, kClosingTime{4};

}  // namespace

void Remote::call() {
  begun_ = Clock::now();
  unreachable_.clear();
  memif::File server = memif::connect_to(socket_, unreachable_);
  if (!server) return;  // it may come later
  link_.emplace(std::move(server));
  asked_ = closed_ = false;
}

void Remote::serve() {
  if (!link_ && Clock::now() - begun_ >= kBetweenCalls) call();
  if (!link_) return;
  try {
    while (auto received = link_->receive()) handle(*received);
    if (link_->closed()) {
      if (!up_ && asked_) problem_ = "the NIC has ended the connection";
      return disconnect();
    }
    if (!up_ && Clock::now() - begun_ > kGreetingTime) throw Error("the greeting takes too long");
  } catch (const Error& error) {
    problem_ = error.what();
    disconnect();
  }
}

void Remote::handle(Link::Received& received) {
  using Type = Message::Type;
  const Message& message = received.message;
  if (message.type == Type::hello && !asked_) {
    if (message.queues != setup_.queues)
      throw Error(format("the NIC has %u queues (--queues), QUEUES says %u; let both be the same", message.queues,
                         setup_.queues));
    if (message.buffer_bytes != setup_.buffer_bytes)
      throw Error(format("the NIC's buffers have %u bytes (--buffer), BUFFER says %u; let both be the same",
                         message.buffer_bytes, setup_.buffer_bytes));
    if (message.gpu.text() != setup_.gpu.text())
      throw Error(format("the NIC works on the memory of %s (--device), the port on that of %s; let both be on one GPU",
                         message.gpu.text().c_str(), setup_.gpu.text().c_str()));
    link_->send(setup_, files_);
    asked_ = true;
  } else if (message.type == Type::ready && asked_ && !up_ && received.files.size() == 1) {
    registers_ = memif::Region(std::move(received.files[0]), kDirections * setup_.queues * sizeof(Register));
    up_ = true, ++number_;
    problem_.clear();
  } else if (message.type == Type::closed && up_) {
    closed_ = true;
  } else {
    throw Error(format("a message of type %u is not expected now", static_cast<unsigned>(message.type)));
  }
}

void Remote::close() {
  if (!up_) return;
  link_->send({.type = Message::Type::close});
  const auto deadline = Clock::now() + kClosingTime;
  while (up_ && !closed_ && Clock::now() < deadline) {
    pollfd file{descriptor(), POLLIN, 0};
    poll(&file, 1, 50);
    serve();
  }
}

void Remote::disconnect() {
  if (!link_) return;
  if (std::exchange(up_, false)) on_down();
  registers_ = {};
  link_.reset();
  begun_ = Clock::now();
}

}  // namespace heddle::softnic
