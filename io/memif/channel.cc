#include "io/memif/channel.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "core/error.h"

namespace heddle::memif {
namespace {

constexpr size_t kMaxFiles = 8;  ///< that are taken from one message

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  static_assert(sizeof address.sun_path == kMaxPathBytes + 1);
  if (path.empty() || path.size() > kMaxPathBytes)
    throw Error(format("socket '%s': a path of 1 to %zu bytes is expected", path.c_str(), kMaxPathBytes));
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

File new_socket() {
  File file(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!file) throw Error(format("memif: no socket: %s", std::strerror(errno)));
  return file;
}

bool connects(const File& file, const sockaddr_un& address) {
  return connect(file.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

/** The files beside a message. */
std::vector<File> files_of(msghdr& header) {
  std::vector<File> files;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      files.emplace_back(descriptor);
    }
  }
  return files;
}

}  // namespace

File::~File() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool send_packet(const File& socket, std::span<const std::byte> bytes, std::span<const int> files) {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxFiles * sizeof(int))] = {};
  if (!files.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(files.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(rights), files.data(), files.size_bytes());
  }
  return sendmsg(socket.get(), &header, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

std::optional<std::vector<File>> receive_packet(const File& socket, std::span<std::byte> bytes, size_t most,
                                                bool& closed) {
  iovec part{bytes.data(), bytes.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxFiles * sizeof(int))] = {};
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const ssize_t size = recvmsg(socket.get(), &header, MSG_CMSG_CLOEXEC);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (size <= 0) {
    closed = true;
    return {};
  }
  std::vector<File> files = files_of(header);
  if (size != static_cast<ssize_t>(bytes.size()) || (header.msg_flags & MSG_TRUNC) != 0)
    throw Error(format("a message has %zu bytes, not this one's size", bytes.size()));
  if (files.size() > most || (header.msg_flags & MSG_CTRUNC) != 0)
    throw Error(most == 1 ? std::string("a message has one file at most")
                          : format("a message has %zu files at most", most));
  return files;
}

bool Channel::send(const Message& message, int file) {
  const bool sent = send_packet(socket_, std::as_bytes(std::span(&message, 1)),
                                file >= 0 ? std::span<const int>(&file, 1) : std::span<const int>());
  closed_ = closed_ || !sent;
  return sent;
}

std::optional<Received> Channel::receive() {
  Received received;
  auto files = receive_packet(socket_, std::as_writable_bytes(std::span(&received.message, 1)), 1, closed_);
  if (!files) return {};
  if (!files->empty()) received.file = std::move(files->front());
  return received;
}

File listen_at(const std::string& path, SocketFile& file) {
  const sockaddr_un address = address_of(path);
  struct stat there {};
  if (lstat(path.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode)) throw Error("socket '" + path + "': something else is there; name another place");
    if (connects(new_socket(), address))
      throw Error("socket '" + path + "': a program listens there already; name another place");
    unlink(path.c_str());
  }
  const auto why = [&] { return format("socket '%s': cannot be made: %s", path.c_str(), std::strerror(errno)); };
  File listener = new_socket();
  // Before anybody can connect: on Linux the mode of a socket's file is that of the socket at bind().
  if (fchmod(listener.get(), 0600) != 0 ||
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw Error(why());
  file = SocketFile(path);
  if (chmod(path.c_str(), 0600) != 0 || listen(listener.get(), 4) != 0) throw Error(why());
  return listener;
}

File accept_from(const File& listener) {
  return File(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

File connect_to(const std::string& path, std::string& problem) {
  const sockaddr_un address = address_of(path);
  File file = new_socket();
  if (!connects(file, address)) {
    problem = format("socket '%s': %s", path.c_str(), std::strerror(errno));
    return {};
  }
  return file;
}

}  // namespace heddle::memif
