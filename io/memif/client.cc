#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "io/memif/session.h"

namespace heddle::memif {

ClientSession::ClientSession(Channel channel, Interface wanted, const Region& rings, const Region& buffers)
    : Session(std::move(channel), std::move(wanted)), rings_(rings), buffers_(buffers) {
  make_rings();
}

void ClientSession::make_rings() {
  const size_t bytes = ring_bytes(wanted_.log2_size);
  std::byte* at = rings_.base();
  for (const auto& [list, count] : {std::pair{&transmitting_, wanted_.transmitting}, {&receiving_, wanted_.receiving}})
    for (int i = 0; i < count; ++i, at += bytes) {
      std::memset(at, 0, bytes);
      auto* ring = reinterpret_cast<Ring*>(at);
      ring->cookie = kCookie;
      if (list == &receiving_) ring->flags = kPolls;
      list->push_back({ring, wanted_.log2_size});
    }
}

void ClientSession::plan_steps() {
  Message init(Type::init);
  init.init.version = kVersion;
  init.init.id = wanted_.id;
  init.init.secret.set(wanted_.secret);
  init.init.name.set("heddle");
  steps_.push_back({init});
  for (const auto& [index, region] : {std::pair{kRingRegion, &rings_}, {kBufferRegion, &buffers_}}) {
    Message add(Type::add_region);
    add.add_region.index = index;
    add.add_region.size = region->bytes();
    steps_.push_back({add, region->file()});
  }
  for (const bool to_server : {true, false}) {
    std::vector<SharedRing>& rings = to_server ? transmitting_ : receiving_;
    for (size_t i = 0; i < rings.size(); ++i) {
      SharedRing& ring = rings[i];
      events_.emplace_back(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
      if (!events_.back()) throw Error(format("no eventfd: %s", std::strerror(errno)));
      ring.event = events_.back().get();
      Message add(Type::add_ring);
      add.add_ring.flags = to_server ? kToServer : 0;
      add.add_ring.index = static_cast<uint16_t>(i);
      add.add_ring.region = kRingRegion;
      add.add_ring.offset = static_cast<uint32_t>(reinterpret_cast<std::byte*>(ring.ring) - rings_.base());
      add.add_ring.log2_size = static_cast<uint8_t>(ring.log2_size);
      steps_.push_back({add, ring.event});
    }
  }
  Message connect(Type::connect);
  connect.connect.interface.set("heddle");
  steps_.push_back({connect});
}

void ClientSession::say_next() {
  const Step& step = steps_[said_++];
  send(step.message, step.file);
}

void ClientSession::handle(Received& received) {
  const Message& message = received.message;
  if (message.type == Type::hello && steps_.empty()) {
    const auto& hello = message.hello;
    if (hello.min_version > kVersion || hello.max_version < kVersion)
      throw Error(format("version 2.0 is not among those of the peer, %u.%u to %u.%u", hello.min_version >> 8,
                         hello.min_version & 255, hello.max_version >> 8, hello.max_version & 255));
    if (hello.max_region < kBufferRegion) throw Error("the peer takes one region, two are needed");
    if (const int most = hello.max_to_client_ring + 1; most < wanted_.receiving)
      throw Error(format("the peer sends by %d rings, and this end wants %d; give it as many transmit queues", most,
                         wanted_.receiving));
    if (const int most = hello.max_to_server_ring + 1; most < wanted_.transmitting)
      throw Error(format("the peer receives from %d rings, and this end has %d; give it as many receive queues", most,
                         wanted_.transmitting));
    if (hello.max_log2_ring_size < wanted_.log2_size)
      throw Error(
          format("the peer takes rings of %d, NDESC says %d", 1 << hello.max_log2_ring_size, 1 << wanted_.log2_size));
    plan_steps();
    say_next();
  } else if (message.type == Type::ack && said_ > 0 && said_ < steps_.size()) {
    say_next();
  } else if (message.type == Type::connected && state_ == State::greeting && said_ > 0 && said_ == steps_.size()) {
    state_ = State::up;
  } else {
    throw Error(format("a message of type %u is not expected now", static_cast<unsigned>(message.type)));
  }
}

}  // namespace heddle::memif
