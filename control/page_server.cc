#include "control/page_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include "core/error.h"

namespace heddle {
namespace {

constexpr size_t kMaxRequestBytes = 16384;

std::string reply(const char* status, const std::string& type, const std::string& body, bool with_body = true) {
  return format("HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", status,
                type.c_str(), body.size()) +
         (with_body ? body : "");
}

}  // namespace

PageServer::PageServer(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (listener_ < 0 || wake_ < 0 || setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener_, SOMAXCONN) != 0) {
    const int error = errno;
    close(listener_);
    close(wake_);
    throw Error(format("cannot listen on port %d of 127.0.0.1: %s", port, std::strerror(error)));
  }
}

PageServer::~PageServer() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
    thread_.join();
  }
  for (auto& client : clients_) close(client.socket);
  close(listener_);
  close(wake_);
}

void PageServer::serve(const std::string& path, const std::string& type, std::function<std::string()> page) {
  path_ = path, type_ = type, page_ = std::move(page);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's handlers run on the program's threads
  thread_ = std::thread(&PageServer::loop, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void PageServer::loop() {
  std::vector<pollfd> polled;
  for (;;) {
    polled.assign({{wake_, POLLIN, 0}, {listener_, POLLIN, 0}});
    for (auto& client : clients_) {
      const int events = (client.hung_up ? 0 : POLLIN) | (client.reply.empty() ? 0 : POLLOUT);
      polled.push_back({client.socket, static_cast<short>(events), 0});
    }
    if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
    if (polled[0].revents != 0) return;
    size_t i = 2;
    for (auto& client : clients_) {
      const short events = polled[i++].revents;
      if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && !client.hung_up) read_from(client);
      if (!client.reply.empty()) write_to(client);
      if (client.gone) close(client.socket);
    }
    clients_.remove_if([](const Client& client) { return client.gone; });
    if ((polled[1].revents & POLLIN) != 0) accept_clients();
  }
}

void PageServer::accept_clients() {
  const auto close_idlest = [this] {
    const auto idlest = std::min_element(clients_.begin(), clients_.end(),
                                         [](auto& one, auto& other) { return one.heard_at < other.heard_at; });
    close(idlest->socket);
    clients_.erase(idlest);
  };
  for (size_t n = 0; n < kMaxClients; ++n) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket >= 0) {
      if (clients_.size() == kMaxClients) close_idlest();
      clients_.push_back({socket, Clock::now()});
      continue;
    }
    // Without descriptors the listener stays ready: do not spin.
    const bool none_left = errno == EMFILE || errno == ENFILE;
    if (!none_left) return;
    if (clients_.empty()) return std::this_thread::sleep_for(std::chrono::milliseconds(10));
    close_idlest();
  }
}

void PageServer::read_from(Client& client) {
  char bytes[4096];
  const ssize_t n = read(client.socket, bytes, sizeof bytes);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {  // it may still listen
    client.hung_up = true;
    client.gone = client.reply.empty() || n < 0;
  }
  if (n <= 0 || client.answered) return;
  client.heard_at = Clock::now();
  client.request.append(bytes, static_cast<size_t>(n));
  const bool whole = client.request.find("\r\n\r\n") != std::string::npos;
  if (!whole && client.request.size() <= kMaxRequestBytes) return;
  client.reply = whole ? answer(client.request) : reply("431 Request Header Fields Too Large", "text/plain", "");
  client.answered = true;
  client.request.clear();
}

std::string PageServer::answer(const std::string& request) const {
  const std::string line = request.substr(0, request.find("\r\n"));
  const size_t target = line.find(' ') + 1, end = std::min(line.find_first_of(" ?", target), line.size());
  const bool get = line.starts_with("GET "), head = line.starts_with("HEAD ");
  if (!get && !head) return reply("405 Method Not Allowed", "text/plain", "");
  if (line.substr(target, end - target) != path_) return reply("404 Not Found", "text/plain", "see " + path_ + "\n");
  return reply("200 OK", type_, page_(), get);
}

void PageServer::write_to(Client& client) const {
  const ssize_t n = send(client.socket, client.reply.data(), client.reply.size(), MSG_NOSIGNAL);
  if (n < 0) {
    client.gone = client.gone || (errno != EAGAIN && errno != EINTR);
    return;
  }
  client.heard_at = Clock::now();
  client.reply.erase(0, static_cast<size_t>(n));
  // Closed once it has hung up: a socket that is closed with bytes unread takes back what it has said.
  if (client.reply.empty()) shutdown(client.socket, SHUT_WR);
  client.gone = client.gone || (client.reply.empty() && client.hung_up);
}

}  // namespace heddle
