#include <atomic>

#include "core/error.h"
#include "io/memif/session.h"

namespace heddle::memif {

ServerSession::ServerSession(Channel channel, Interface wanted)
    : Session(std::move(channel), std::move(wanted)),
      to_server_(static_cast<size_t>(wanted_.receiving)),
      to_client_(static_cast<size_t>(wanted_.transmitting)) {
  Message message(Type::hello);
  auto& hello = message.hello;
  hello.name.set("heddle");
  hello.min_version = hello.max_version = kVersion;
  hello.max_region = kMaxRegions - 1;
  hello.max_to_client_ring = static_cast<uint16_t>(wanted_.transmitting - 1);
  hello.max_to_server_ring = static_cast<uint16_t>(wanted_.receiving - 1);
  hello.max_log2_ring_size = kMaxLog2Size;
  send(message);
}

void ServerSession::handle(Received& received) {
  const Message& message = received.message;
  if (state_ == State::up || known_ == (message.type == Type::init))
    throw Error(format("a message of type %u is not expected now", static_cast<unsigned>(message.type)));
  switch (message.type) {
    case Type::init:
      init(message);
      break;
    case Type::add_region:
      add_region(received);
      break;
    case Type::add_ring:
      add_ring(received);
      break;
    case Type::connect:
      connect();
      return;
    default:
      throw Error(format("a message of type %u is not expected", static_cast<unsigned>(message.type)));
  }
  send(Message(Type::ack));
}

void ServerSession::init(const Message& message) {
  const auto& init = message.init;
  if (init.version != kVersion)
    throw Error(format("version 2.0 is expected, not %u.%u", init.version >> 8, init.version & 255));
  if (init.id != wanted_.id) throw Error(format("interface %u is not here, but %u", uint32_t{init.id}, wanted_.id));
  if (init.mode != 0) throw Error("only Ethernet interfaces are here");
  if (init.secret.text() != wanted_.secret) throw Error("the secret is another one");
  known_ = true;
}

void ServerSession::add_region(Received& received) {
  const auto& add = received.message.add_region;
  if (add.index != regions_.size() || add.index >= kMaxRegions)
    throw Error(format("region %u: 0, 1, ... to %u are expected in turn", add.index, kMaxRegions - 1));
  try {
    regions_.emplace_back(std::move(received.file), uint64_t{add.size});
  } catch (const Error& error) {
    throw Error(format("region %u: %s", add.index, error.what()));
  }
  uint64_t bytes = 0;
  for (const Region& region : regions_) bytes += region.bytes();
  if (bytes > kMaxBytes)
    throw Error(format("region %u: all together have more than %ju GiB; share less memory", add.index,
                       uintmax_t{kMaxBytes >> 30}));
}

void ServerSession::add_ring(Received& received) {
  const auto& add = received.message.add_ring;
  const bool to_server = (add.flags & kToServer) != 0;
  auto& list = to_server ? to_server_ : to_client_;
  if (add.index >= list.size())
    throw Error(format("ring %u to the %s: there are %zu", add.index, to_server ? "server" : "client", list.size()));
  Announced& ring = list[add.index];
  if (ring.there) throw Error(format("ring %u comes twice", add.index));
  if (!received.file) throw Error(format("ring %u: its eventfd is missing", add.index));
  if (add.log2_size > kMaxLog2Size)
    throw Error(format("ring %u: at most %d descriptors are expected", add.index, 1 << kMaxLog2Size));
  if (add.private_header_bytes != 0) throw Error(format("ring %u: headers of its own are not taken", add.index));
  ring = {true, add.region, add.offset, add.log2_size, std::move(received.file)};
}

SharedRing ServerSession::place(const Announced& ring, const char* direction, size_t index) const {
  const std::string name = format("ring %zu to the %s", index, direction);
  if (!ring.there) throw Error(name + " is missing");
  if (ring.region >= regions_.size()) throw Error(format("%s: region %u is missing", name.c_str(), ring.region));
  const Region& region = regions_[ring.region];
  const size_t bytes = ring_bytes(ring.log2_size);
  if (ring.offset % alignof(Ring) != 0 || ring.offset % sizeof(Descriptor) != 0)
    throw Error(name + ": does not begin at a multiple of 16");
  if (bytes > region.bytes() || ring.offset > region.bytes() - bytes) throw Error(name + ": leaves its region");
  auto* at = reinterpret_cast<Ring*>(region.base() + ring.offset);
  if (at->cookie != kCookie) throw Error(name + ": the cookie is wrong");
  return {at, ring.log2_size, ring.event.get()};
}

void ServerSession::connect() {
  for (size_t i = 0; i < to_server_.size(); ++i) receiving_.push_back(place(to_server_[i], "server", i));
  for (size_t i = 0; i < to_client_.size(); ++i) transmitting_.push_back(place(to_client_[i], "client", i));
  for (const SharedRing& shared : receiving_) shared.ring->flags = kPolls;
  for (const auto* list : {&receiving_, &transmitting_})
    for (const SharedRing& shared : *list) shared.ring->head = shared.ring->tail = 0;
  std::atomic_thread_fence(std::memory_order_release);
  Message connected(Type::connected);
  connected.connected.interface.set("heddle");
  send(connected);
  state_ = State::up;
}

}  // namespace heddle::memif
