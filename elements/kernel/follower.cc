#include "elements/kernel/follower.h"

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "core/error.h"
#include "elements/basic/handler_call.h"

namespace heddle {
namespace {

constexpr int kSocketBytes = 64 << 20;     // a million changes lie in some hundred MB: more is read again
constexpr size_t kMessageBytes = 1 << 16;  // the kernel fills less
constexpr int kPauseMs = 20;               // before all is read again

std::string because(const char* call) { return std::string(call) + ": " + std::strerror(errno); }

}  // namespace

KernelFollower::~KernelFollower() { stop(); }

void KernelFollower::open() {
  socket_ = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket_ == nullptr) throw Error("the kernel's routing messages cannot be read: " + because("socket"));
  const int descriptor = mnl_socket_get_fd(socket_);
  // Beyond the limit that others have, if we may.
  if (setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &kSocketBytes, sizeof kSocketBytes) != 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &kSocketBytes, sizeof kSocketBytes);
  if (mnl_socket_bind(socket_, groups_, MNL_SOCKET_AUTOPID) != 0)
    throw Error("the kernel's routing messages cannot be read: " + because("bind"));
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) throw Error(because("eventfd"));
}

void KernelFollower::close() {
  if (socket_ != nullptr) mnl_socket_close(socket_);
  if (wake_ >= 0) ::close(wake_);
  socket_ = nullptr, wake_ = -1;
}

void KernelFollower::start(const Environment& environment) {
  control_ = environment.control;
  over_ = environment.stopping;
  try {
    open();
  } catch (const Error&) {
    close();
    throw;
  }
  thread_ = std::thread([this] { follow(); });
}

std::string KernelFollower::stop() {
  stopping_ = true;
  if (thread_.joinable()) {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
    thread_.join();
  }
  close();
  return {};
}

std::string KernelFollower::handler_named(const Environment& environment, const std::string& text) const {
  const std::string full = full_handler_name(*environment.control, name, text);
  if (!environment.control->find(full).write) throw Error("handler '" + full + "' cannot be written");
  return full;
}

bool KernelFollower::write(const std::string& handler, const std::string& value, bool matters) {
  bool written = false;
  try {
    exclusively([&] {
      if (over()) return;
      control_->write(handler, value);
      written = true;
    });
  } catch (const Error& error) {
    const std::lock_guard lock(failing_);
    if (matters) failure_ = handler + ": " + error.what();
  }
  return written;
}

KernelFollower::Reading KernelFollower::read(uint32_t until) {
  std::vector<char> buffer(kMessageBytes);
  while (!stopping_) {
    const ssize_t bytes = mnl_socket_recvfrom(socket_, buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Reading::idle;
    if (bytes < 0) return Reading::lost;  // ENOBUFS: messages have been dropped
    int left = static_cast<int>(bytes);
    for (auto* message = reinterpret_cast<nlmsghdr*>(buffer.data()); mnl_nlmsg_ok(message, left);
         message = mnl_nlmsg_next(message, &left)) {
      const bool asked = message->nlmsg_seq == until && until != 0 && (message->nlmsg_flags & NLM_F_MULTI) != 0;
      if (asked && (message->nlmsg_flags & NLM_F_DUMP_INTR) != 0) again_ = true;
      if (asked && message->nlmsg_type == NLMSG_DONE) return Reading::ended;
      if (message->nlmsg_type == NLMSG_ERROR) return Reading::lost;
      if (message->nlmsg_type >= NLMSG_MIN_TYPE && take(*message)) again_ = true;
    }
  }
  return Reading::ended;
}

bool KernelFollower::read_all() {
  again_ = false;
  begin_all();
  alignas(nlmsghdr) char buffer[128];
  nlmsghdr* request = mnl_nlmsg_put_header(buffer);
  request->nlmsg_type = what_;
  request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request->nlmsg_seq = ++sequence_;
  auto* body = static_cast<rtgenmsg*>(mnl_nlmsg_put_extra_header(request, sizeof(rtmsg)));  // the longest in use
  body->rtgen_family = family_;
  if (mnl_socket_sendto(socket_, request, request->nlmsg_len) < 0) return false;
  pollfd waiting[] = {{wake_, POLLIN, 0}, {mnl_socket_get_fd(socket_), POLLIN, 0}};
  for (Reading reading = Reading::idle; reading != Reading::ended; reading = read(sequence_)) {
    if (reading == Reading::lost) return false;
    if (poll(waiting, 2, -1) < 0 && errno != EINTR) return false;
    if (stopping_) return true;
  }
  end_all();
  ++readings_;
  return !again_;
}

void KernelFollower::follow() {
  bool all = true;
  while (!stopping_) {
    if (all) all = !read_all();
    tell();
    if (stopping_) return;
    pollfd waiting[] = {{wake_, POLLIN, 0}, {mnl_socket_get_fd(socket_), POLLIN, 0}};
    const int ready = poll(waiting, 2, all ? kPauseMs : again_ms_ > 0 ? again_ms_ : -1);
    if (ready < 0) continue;
    all = all || ready == 0;
    if ((waiting[1].revents & (POLLIN | POLLERR)) == 0) continue;
    const Reading reading = read(0);
    all = all || again_ || reading == Reading::lost;
  }
}

void KernelFollower::handlers(Handlers& list) {
  list.read("readings", [this] { return std::to_string(readings_.load()); }).read("last_failure", [this] {
    const std::lock_guard lock(failing_);
    return failure_;
  });
}

std::vector<std::pair<std::string, uint64_t>> KernelFollower::statistics() const {
  return {{"readings", readings_.load()}};
}

}  // namespace heddle
