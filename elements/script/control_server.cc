#include "elements/script/control_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "core/error.h"

namespace heddle {
namespace {

constexpr size_t kMaxClients = 256;
constexpr size_t kReadBytes = 16384;
constexpr size_t kReplyBytes = 1 << 20;  // a client that has so much to read gets no more commands executed
constexpr auto kLeave = std::chrono::seconds(2);

std::string because(const char* call) { return std::string(call) + ": " + std::strerror(errno); }

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

template <class Address>
int bind_to(int socket, const Address& address) {
  return bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

// A socket file that nobody listens to: its process has died.
bool is_stale(const sockaddr_un& address) {
  struct stat file {};
  if (lstat(address.sun_path, &file) != 0 || !S_ISSOCK(file.st_mode)) return false;
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return false;
  const bool refused =
      connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 && errno == ECONNREFUSED;
  close(probe);
  return refused;
}

}  // namespace

ControlServer::ControlServer(std::string name, Config config, Manners manners, Control& control)
    : name_(std::move(name)), config_(std::move(config)), control_(control), retries_(config_.retries) {
  set(manners);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) throw Error(because("eventfd"));
  try {
    if (config_.descriptor >= 0)
      take_connection();
    else if (!try_to_open() && retries_ <= 0)
      open();  // throws
    thread_ = std::thread([this] { serve(); });
  } catch (...) {
    close_all();
    throw;
  }
}

bool ControlServer::is_at(const Config& wanted) const {
  if (wanted.tcp != config_.tcp || wanted.descriptor != config_.descriptor || wanted.path != config_.path) return false;
  return !wanted.tcp || wanted.port == port_ || (wanted.port == config_.port && wanted.next_port == config_.next_port);
}

void ControlServer::set(const Manners& manners) {
  verbose_ = manners.verbose;
  manners_.set(manners.read_only, manners.proxy);
}

void ControlServer::take_connection() {
  struct stat file {};
  const int flags = fcntl(config_.descriptor, F_GETFL);
  if (flags < 0 || fstat(config_.descriptor, &file) != 0 || !S_ISSOCK(file.st_mode))
    throw Error(format("descriptor %d is no open socket", config_.descriptor));
  fcntl(config_.descriptor, F_SETFL, flags | O_NONBLOCK);
  add_client(config_.descriptor);
}

bool ControlServer::try_to_open() {
  try {
    open();
    return true;
  } catch (const Error& error) {
    if (config_.retry_warnings && retries_ > 0)
      std::fprintf(stderr, "ControlSocket '%s': %s (%d %s left)\n", name_.c_str(), error.what(), retries_,
                   retries_ == 1 ? "try" : "tries");
    return false;
  }
}

void ControlServer::open() {
  listener_ = socket(config_.tcp ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0) throw Error(because("socket"));
  try {
    if (config_.tcp)
      open_tcp();
    else
      open_unix();
    if (listen(listener_, 16) != 0) throw Error(because("listen"));
  } catch (...) {
    close(listener_);
    listener_ = -1;
    throw;
  }
}

void ControlServer::open_tcp() {
  const int on = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(config_.port);
  address.sin_addr.s_addr = htonl(config_.localhost ? INADDR_LOOPBACK : INADDR_ANY);
  port_ = config_.port;
  int result = 0;
  while ((result = bind_to(listener_, address)) != 0 && config_.next_port && errno == EADDRINUSE && port_ != UINT16_MAX)
    address.sin_port = htons(++port_);
  if (result != 0) throw Error(format("port %u: %s", config_.port, std::strerror(errno)));
}

void ControlServer::open_unix() {
  const sockaddr_un address = unix_address(config_.path);
  // The file gets the socket's mode when bind() makes it, so there is no moment in which others may connect.
  if (fchmod(listener_, 0600) != 0) throw Error(because("fchmod"));
  int result = bind_to(listener_, address);
  if (result != 0 && errno == EADDRINUSE && is_stale(address)) {
    unlink(config_.path.c_str());
    result = bind_to(listener_, address);
  }
  if (result == 0) {
    file_ = SocketFile(config_.path);
    return;
  }
  throw Error("'" + config_.path + "': " + std::strerror(errno) +
              (errno == EADDRINUSE
                   ? "; another program listens there or a ControlSocket of the former chain, or it is no socket"
                   : ""));
}

void ControlServer::serve() {
  while (listener_ < 0 && config_.descriptor < 0 && !stopping_) {
    pollfd wake{wake_, POLLIN, 0};
    if (poll(&wake, 1, 1000) > 0) return;
    --retries_;
    if (try_to_open()) break;
    if (retries_ > 0) continue;
    std::fprintf(stderr, "ControlSocket '%s': no tries left, stopping\n", name_.c_str());
    control_.stop();
    return;
  }
  std::vector<pollfd> polled;
  while (!stopping_) {
    polled.assign({{wake_, POLLIN, 0}, {listener_, POLLIN, 0}});
    bool leaving = false;
    for (auto& client : clients_) {
      int events = client.reply.empty() ? 0 : POLLOUT;
      if (!client.hung_up && client.reply.size() < kReplyBytes) events |= POLLIN;
      polled.push_back({client.socket, static_cast<short>(events), 0});
      leaving = leaving || client.leaving();
    }
    if (poll(polled.data(), polled.size(), leaving ? 100 : -1) < 0 && errno != EINTR) return;
    size_t i = 2;
    for (auto& client : clients_) {
      const short events = polled[i++].revents;
      if (events & (POLLIN | POLLHUP | POLLERR)) read_from(client);
      bool more = true;
      while (more) {
        more = execute(client);
        write_to(client);
        if (!client.reply.empty()) break;  // goes on when it has read something
      }
      if (client.broken) close_client(client);
    }
    clients_.remove_if([](const Client& client) { return client.socket < 0; });
    if (polled[1].revents & POLLIN) accept_client();
  }
}

/** Makes room for a client. */
void ControlServer::close_idlest() {
  const auto idlest = std::min_element(clients_.begin(), clients_.end(),
                                       [](auto& one, auto& other) { return one.heard_at < other.heard_at; });
  close_client(*idlest);
  clients_.erase(idlest);
}

void ControlServer::accept_client() {
  if (clients_.size() == kMaxClients) close_idlest();
  sockaddr_in address{};
  socklen_t length = sizeof address;
  const int socket = accept4(listener_, config_.tcp ? reinterpret_cast<sockaddr*>(&address) : nullptr,
                             config_.tcp ? &length : nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket < 0) {
    // Without descriptors the listener stays ready: do not spin.
    const bool none_left = errno == EMFILE || errno == ENFILE;
    if (none_left && !clients_.empty())
      close_idlest();
    else if (none_left)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return;
  }
  if (verbose_ && config_.tcp) {
    char text[INET_ADDRSTRLEN];
    std::fprintf(stderr, "%s :: ControlSocket: opened connection %d from %s.%d\n", name_.c_str(), socket,
                 inet_ntop(AF_INET, &address.sin_addr, text, sizeof text), ntohs(address.sin_port));
  } else if (verbose_) {
    std::fprintf(stderr, "%s :: ControlSocket: opened connection %d\n", name_.c_str(), socket);
  }
  add_client(socket);
}

void ControlServer::add_client(int socket) {
  clients_.push_back({socket, Protocol(control_, manners_), Clock::now()});
  clients_.back().reply = Protocol::kGreeting;
  write_to(clients_.back());
}

void ControlServer::read_from(Client& client) {
  if (client.hung_up) return;
  char bytes[kReadBytes];
  const ssize_t n = read(client.socket, bytes, sizeof bytes);
  if (n > 0) {
    client.heard_at = Clock::now();
    client.protocol.receive({bytes, static_cast<size_t>(n)});
  } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
    client.hung_up = true;
    client.protocol.end_of_input();
  }
}

bool ControlServer::execute(Client& client) {
  while (client.reply.size() < kReplyBytes && !stopping_)
    if (!client.protocol.step(client.reply)) return false;
  return !stopping_;
}

void ControlServer::write_to(Client& client) {
  while (!client.reply.empty()) {
    const ssize_t n = send(client.socket, client.reply.data(), client.reply.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      client.broken = client.broken || errno != EAGAIN;
      return;
    }
    client.heard_at = Clock::now();
    client.reply.erase(0, static_cast<size_t>(n));
  }
  if (!client.protocol.closed()) return;
  // A socket that is closed with bytes unread takes back what it has said; so read on for a moment.
  if (!client.leaving()) {
    shutdown(client.socket, SHUT_WR);
    client.leave_at = Clock::now() + kLeave;
  }
  client.broken = client.hung_up || Clock::now() >= client.leave_at;
}

void ControlServer::close_client(Client& client) {
  close(client.socket);
  if (verbose_) std::fprintf(stderr, "%s :: ControlSocket: closed connection %d\n", name_.c_str(), client.socket);
  client.socket = -1;
}

ControlServer::~ControlServer() {
  stopping_ = true;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
  thread_.join();
  close_all();
}

void ControlServer::close_all() {
  for (auto& client : clients_) {
    write_to(client);  // what fits
    close_client(client);
  }
  clients_.clear();
  if (listener_ >= 0) {
    file_ = {};
    close(listener_);
    listener_ = -1;
  }
  close(wake_);
}

}  // namespace heddle
