#include "elements/endpoints/socket.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "click/arguments.h"
#include "core/clock.h"
#include "core/packet_pool.h"

namespace heddle {
namespace {

constexpr int kPatienceMs = 100;

std::string why(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

}  // namespace

Socket::~Socket() { stop(); }

void Socket::configure(click::Arguments& arguments) {
  arguments.required("TYPE", type_);
  const bool inet = type_ == "TCP" || type_ == "UDP";
  stream_ = type_ == "TCP" || type_ == "UNIX";
  if (!inet && type_ != "UNIX" && type_ != "UNIX_DGRAM") {
    arguments.error("TYPE", "TCP, UDP, UNIX or UNIX_DGRAM");
    return;
  }
  if (inet)
    read_inet(arguments);
  else
    read_files(arguments);
  client_ = local_.bytes != 0 || outputs == 0;
  arguments.keyword("CLIENT", client_).keyword("NODELAY", no_delay_);
  read_options(arguments);
  if (client_ && !(allow_name_.empty() && deny_name_.empty()))
    arguments.error("ALLOW and DENY say which clients a server serves, and this is a client");
  if (inputs == 0 && outputs == 0) arguments.error("neither input nor output is connected");
  if (!client_ && outputs == 0)
    arguments.error(
        "a server needs an output, to hear of its clients; connect it, say to Discard, or give CLIENT true");
}

void Socket::read_options(click::Arguments& arguments) {
  arguments.keyword("SNAPLEN", snap_length_, 1u, kMaxPacketBytes).keyword("TIMESTAMP", timestamp_);
  arguments.keyword("SNDBUF", send_buffer_, 1, 1 << 30).keyword("RCVBUF", receive_buffer_, 1, 1 << 30);
  uint32_t headroom = 0;
  bool proper = false;
  arguments.keyword("HEADROOM", headroom, 0u, uint32_t{RTE_PKTMBUF_HEADROOM});
  arguments.keyword("VERBOSE", verbose_).keyword("PROPER", proper);
}

Socket::Address Socket::inet(uint32_t ip, uint16_t port) {
  Address address;
  address.at.inet.sin_family = AF_INET;
  address.at.inet.sin_addr.s_addr = htonl(ip);
  address.at.inet.sin_port = htons(port);
  address.bytes = sizeof address.at.inet;
  return address;
}

void Socket::read_inet(click::Arguments& arguments) {
  click::Ipv4Address address, local;
  click::Port port{.protocol = stream_ ? click::Port::kTcp : click::Port::kUdp}, local_port = port;
  arguments.required("ADDRESS", address).required("PORT", port);
  arguments.optional("LOCALADDRESS", local).optional("LOCALPORT", local_port);
  arguments.keyword("ALLOW", allow_name_).keyword("DENY", deny_name_);
  address_ = inet(address.value, port.number);
  if (local.value != 0 || local_port.number != 0) local_ = inet(local.value, local_port.number);
}

void Socket::read_files(click::Arguments& arguments) {
  std::string path, local;
  arguments.required("FILE", path).optional("LOCALFILE", local);
  const size_t most = sizeof address_.at.local.sun_path;
  if (path.size() >= most || local.size() >= most) {
    arguments.error(format("the path of a socket has fewer than %zu bytes", most));
    return;
  }
  address_ = file(path);
  if (!local.empty()) local_ = file(local);
}

Socket::Address Socket::file(const std::string& path) {
  Address address;
  address.at.local.sun_family = AF_UNIX;
  std::memcpy(address.at.local.sun_path, path.data(), path.size());
  address.bytes = sizeof address.at.local;
  return address;
}

std::span<const char* const> Socket::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_peer", "blocked", "refused"};
  return kReasons;
}

void Socket::set_options(int descriptor) const {
  const int one = 1;
  if (type_ == "TCP" && no_delay_) setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (send_buffer_ > 0) setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &send_buffer_, sizeof send_buffer_);
  if (receive_buffer_ > 0) setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receive_buffer_, sizeof receive_buffer_);
}

void Socket::link(const Directory& directory) {
  const auto find = [&](const char* keyword, const std::string& named) -> const AddressSet* {
    if (named.empty()) return nullptr;
    const std::vector<Element*> found = directory(named);
    const auto* set = found.size() == 1 ? dynamic_cast<const AddressSet*>(found[0]) : nullptr;
    if (set == nullptr)
      throw Error(std::string(keyword) + ": '" + named +
                  "' is no table of routes; expected the name of an element such as RadixIPLookup");
    return set;
  };
  allow_ = find("ALLOW", allow_name_), deny_ = find("DENY", deny_name_);
}

void Socket::start(const Environment& environment) {
  packets_ = snap_length_ <= environment.packets->data_bytes() ? environment.packets : environment.large_packets;
  stopping_ = environment.stopping;
  over_ = false;
  if (!goes_on(*this, predecessor)) open();  // else take_state() brings the socket
}

bool Socket::goes_on(const Socket& heir, const Element* old) {
  const auto* before = static_cast<const Socket*>(old);
  return before != nullptr && heir.predecessor == old && heir.same_arguments && heir.inputs == before->inputs &&
         heir.outputs == before->outputs;
}

void Socket::take_state(Element& old_element) {
  auto& old = static_cast<Socket&>(old_element);
  if (!goes_on(*this, &old) && !goes_on(old, this)) return;
  std::swap(socket_, old.socket_), std::swap(peer_, old.peer_);
  std::swap(last_, old.last_), std::swap(local_, old.local_), file_.swap(old.file_);
  over_ = old.over_.exchange(over_);
  received_.take(old.received_), sent_.take(old.sent_);
  denied_ = old.denied_.exchange(denied_);
}

void Socket::open() {
  const int family = address_.at.any.sa_family;
  socket_ = socket(family, (stream_ ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0);
  if (socket_ < 0) throw Error(why("cannot make a socket"));
  set_options(socket_);
  const int one = 1;
  setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  const Address& bound = client_ ? local_ : address_;
  if (bound.bytes != 0) {
    if (bind(socket_, &bound.at.any, bound.bytes) != 0) throw Error(why("cannot bind the socket to its address"));
    if (family == AF_UNIX) file_ = SocketFile(bound.at.local.sun_path);
  }
  if (!client_) {
    if (stream_ && listen(socket_, 1) != 0) throw Error(why("cannot listen"));
    return;
  }
  if (connect(socket_, &address_.at.any, address_.bytes) != 0) throw Error(why("cannot connect; is the server there?"));
  last_ = address_;
  if (stream_) peer_ = std::exchange(socket_, -1);
}

void Socket::accept_client() {
  pollfd ready{socket_, POLLIN, 0};
  if (socket_ < 0 || poll(&ready, 1, 0) <= 0) return;
  Address from;
  from.bytes = sizeof from.at;
  peer_ = accept4(socket_, &from.at.any, &from.bytes, SOCK_CLOEXEC);
  if (peer_ >= 0) tell("opened");
  if (peer_ >= 0 && !serves(from)) close_peer();
  if (peer_ >= 0) set_options(peer_);
}

void Socket::tell(const char* what) const {
  if (verbose_ && !client_)
    std::fprintf(stderr, "%s :: %s: %s connection %d\n", name.c_str(), class_name.c_str(), what, peer_);
}

bool Socket::serves(const Address& client) {
  if (client_ || (allow_ == nullptr && deny_ == nullptr)) return true;
  const uint32_t address = ntohl(client.at.inet.sin_addr.s_addr);
  if (allow_ != nullptr && allow_->has_route(address)) return true;
  if (deny_ == nullptr || !deny_->has_route(address)) return true;
  denied_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void Socket::close_peer() {
  if (peer_ >= 0) tell("closed"), close(peer_);
  peer_ = -1;
  over_ = client_;
}

int Socket::send(const uint8_t* bytes, size_t count) {
  const int descriptor = stream_ || peer_ >= 0 ? peer_ : socket_;
  if (descriptor < 0 || (!stream_ && last_.bytes == 0)) return 1 + kNoPeer;
  size_t done = 0;
  do {
    const ssize_t n = stream_ || client_ ? ::send(descriptor, bytes + done, count - done, MSG_DONTWAIT | MSG_NOSIGNAL)
                                         : sendto(descriptor, bytes, count, MSG_DONTWAIT, &last_.at.any, last_.bytes);
    if (n >= 0) {
      done += static_cast<size_t>(n);
      continue;
    }
    const bool full = errno == EAGAIN || errno == ENOBUFS;
    pollfd ready{descriptor, POLLOUT, 0};
    if (errno == EINTR || (full && poll(&ready, 1, kPatienceMs) > 0)) continue;
    if (stream_) close_peer();
    return 1 + (full ? kBlocked : kRefused);
  } while (stream_ && done < count);
  return 0;
}

void Socket::run_cpu(Batch& batch) {
  int dropped = 0, sent = 0;
  {
    const std::lock_guard lock(mutex_);
    for (int i = 0; i < batch.size(); ++i) {
      Packet* packet = batch.packet(i);
      const int reason = send(data(packet), length(packet));
      if (reason == 0) {
        rte_pktmbuf_free(packet);
        ++sent;
        continue;
      }
      batch.packets()[dropped] = packet;
      batch.drop(dropped++, reason - 1);
    }
  }
  batch.resize(dropped);
  if (sent > 0) sent_[batch.thread].add(static_cast<uint64_t>(sent), 0);
}

bool Socket::receive_one(Packet* packet) {
  if (stream_ && peer_ < 0) accept_client();
  const int descriptor = stream_ ? peer_ : socket_;
  if (descriptor < 0) return false;
  Address from;
  from.bytes = sizeof from.at;
  const ssize_t n = recvfrom(descriptor, data(packet), snap_length_, MSG_DONTWAIT, &from.at.any, &from.bytes);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (stream_ && n <= 0) {
    close_peer();
    return false;
  }
  if (n < 0) return false;  // an ICMP error about what has been sent: datagrams go on
  if (is_own(from) || (!stream_ && !serves(from))) return false;
  if (!client_ && answers_) last_ = from;
  packet->data_len = static_cast<uint16_t>(n), packet->pkt_len = static_cast<uint32_t>(n);
  set_capture_info(packet, {timestamp_ ? RouterClock::wall_ns() : 0, 0});
  return true;
}

void Socket::receive(Batch& batch) {
  const int first = batch.size();
  {
    const std::lock_guard lock(mutex_);
    while (batch.size() < batch.room()) {
      Packet*& place = batch.packets()[batch.size()];
      if (!packets_->allocate(&place, 1)) break;
      if (!receive_one(place)) {
        rte_pktmbuf_free(place);
        break;
      }
      batch.resize(batch.size() + 1);
    }
  }
  const int n = batch.size() - first;
  if (n == 0) return;
  // Annotations of packets that came in are not those of packets that go out.
  each_column(carries, [&](Column which) {
    std::memset(batch.column(which) + first * words(which), 0,
                sizeof(uint32_t) * static_cast<size_t>(n * words(which)));
  });
  received_[batch.thread].add(static_cast<uint64_t>(n), 0);
}

std::string Socket::stop() {
  const std::lock_guard lock(mutex_);
  file_ = {};
  for (int* descriptor : {&peer_, &socket_})
    if (*descriptor >= 0) close(std::exchange(*descriptor, -1));
  return {};
}

void Socket::handlers(Handlers& list) {
  list.read("received", [this] { return std::to_string(received_.packets()); }).read("sent", [this] {
    return std::to_string(sent_.packets());
  });
  list.read("denied", [this] { return std::to_string(denied_); });
}

std::vector<std::pair<std::string, uint64_t>> Socket::statistics() const {
  if (allow_ == nullptr && deny_ == nullptr) return {};
  return {{"denied", denied_}};
}

HEDDLE_ELEMENT(Socket);

}  // namespace heddle
