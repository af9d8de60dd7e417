#include "apps/heddle/remote.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "click/values.h"

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kForGreeting{5}, kForAnswer{30}, kForLastAnswer{2};
constexpr size_t kMaxBytes = size_t{1} << 30;  // of a value
constexpr size_t kLongestLine = 1 << 20;

int connect_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw Error(path + ": a socket's name has at most 107 bytes");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made >= 0 && connect(made, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return made;
  const int why = errno;
  if (made >= 0) close(made);
  errno = why;
  return -1;
}

int connect_tcp(const std::string& host, const std::string& port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int why = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); why != 0)
    throw Error(host + ":" + port + ": " + gai_strerror(why));
  int made = -1;
  for (const addrinfo* at = found; at != nullptr && made < 0; at = at->ai_next) {
    made = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (made < 0 || connect(made, at->ai_addr, at->ai_addrlen) == 0) continue;
    const int why = errno;
    close(made);
    made = -1, errno = why;
  }
  freeaddrinfo(found);
  return made;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

Remote::Remote(const std::string& address, const volatile std::sig_atomic_t* interrupted)
    : address_(address), interrupted_(interrupted) {
  const size_t colon = address.rfind(':');
  const std::string port = colon == std::string::npos ? address : address.substr(colon + 1);
  const bool tcp = is_number(port) && address.find('/') == std::string::npos;
  if (uint16_t number = 0; tcp && (!click::parse(port, number) || number == 0))
    throw Error(address + ": " + port + " is no port (1 to 65535); for a socket of that name: ./" + port);
  socket_ = tcp ? connect_tcp(colon == std::string::npos ? "127.0.0.1" : address.substr(0, colon), port)
                : connect_unix(address);
  if (socket_ < 0)
    throw Error(address + ": " + std::strerror(errno) +
                "; expected the control socket of a running router: `heddle run CHAIN -u FILE`, or -p PORT");
  if (!line().starts_with("Click::ControlSocket/")) throw no_control_socket();
  greeted_ = true;
}

Remote::~Remote() { close(socket_); }

Error Remote::no_control_socket() const { return Error(address_ + ": no control socket answers there"); }

void Remote::fill() {
  const auto start = Clock::now();
  auto deadline = start + (greeted_ ? kForAnswer : kForGreeting);
  for (bool hurried = false;;) {
    pollfd input{socket_, POLLIN, 0};
    if (poll(&input, 1, 100) > 0) break;
    const auto now = Clock::now();
    if (!hurried && interrupted_ != nullptr && *interrupted_ != 0)
      deadline = std::min(deadline, now + kForLastAnswer), hurried = true;
    if (now < deadline) continue;
    if (!greeted_) throw no_control_socket();
    throw Error(format("%s: the router has not answered for %.0f s", address_.c_str(),
                       std::chrono::duration<double>(now - start).count()));
  }
  char piece[65536];
  ssize_t n = 0;
  while ((n = ::read(socket_, piece, sizeof piece)) < 0 && errno == EINTR) {
  }
  if (n <= 0) throw Error(address_ + ": the router has ended the connection");
  input_.append(piece, static_cast<size_t>(n));
}

std::string Remote::line() {
  size_t end = 0;
  while ((end = input_.find("\r\n")) == std::string::npos) {
    if (input_.size() > kLongestLine) throw no_control_socket();
    fill();
  }
  std::string text = input_.substr(0, end);
  input_.erase(0, end + 2);
  return text;
}

std::string Remote::bytes(size_t count) {
  while (input_.size() < count) fill();
  std::string text = input_.substr(0, count);
  input_.erase(0, count);
  return text;
}

void Remote::send(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = ::send(socket_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error(address_ + ": " + std::strerror(errno));
    at += static_cast<size_t>(n);
  }
}

void Remote::expect_good() {
  std::string text, said;
  do {
    text = line();
    if (text.size() < 4) throw no_control_socket();
    said += (said.empty() ? "" : "\n") + text.substr(4);
  } while (text[3] == '-');
  if (!text.starts_with("200")) throw Error(said);
}

std::string Remote::read(const std::string& handler) {
  send("READ " + handler + "\r\n");
  expect_good();
  const std::string data = line();
  size_t count = 0;
  if (!data.starts_with("DATA ") || !click::parse(std::string_view(data).substr(5), count) || count > kMaxBytes)
    throw no_control_socket();
  return bytes(count);
}

void Remote::write(const std::string& handler, const std::string& value) {
  send("WRITEDATA " + handler + " " + std::to_string(value.size()) + "\r\n" + value);
  expect_good();
}

}  // namespace heddle
