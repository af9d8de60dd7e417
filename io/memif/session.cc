#include "io/memif/session.h"

#include "core/error.h"

namespace heddle::memif {

void Session::serve() {
  while (state_ != State::ended) {
    try {
      std::optional<Received> received = channel_.receive();
      if (!received) break;
      if (received->message.type == Type::disconnect) {
        state_ = State::ended;
        why_ = "the peer has ended it: " + received->message.disconnect.reason.text();
      } else {
        handle(*received);
      }
    } catch (const Error& error) {
      end(error.what());
    }
  }
  if (state_ != State::ended && channel_.closed()) state_ = State::ended, why_ = "the peer has gone";
}

void Session::end(const std::string& reason) {
  if (state_ == State::ended) return;
  Message message(Type::disconnect);
  message.disconnect.reason.set(reason);
  send(message);
  state_ = State::ended;
  why_ = reason;
}

}  // namespace heddle::memif
