#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/socket_file.h"
#include "io/memif/messages.h"

namespace heddle::memif {

constexpr size_t kMaxPathBytes = 107;  ///< of a socket's path

/** A file descriptor and its owner. */
class File {
 public:
  File() = default;
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~File();
  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

/** Sends one packet of a SEQPACKET socket, with up to 8 files beside it. Never blocks; false if the other end is gone,
 *  or takes nothing any more. */
bool send_packet(const File& socket, std::span<const std::byte> bytes, std::span<const int> files);
/** Takes the next packet, which must have the size of `bytes`, and returns the files beside it; nothing if none has
 *  come, or, which sets `closed`, none will. Throws Error for a packet of another size, and for more than `most`
 *  files. */
std::optional<std::vector<File>> receive_packet(const File& socket, std::span<std::byte> bytes, size_t most,
                                                bool& closed);

struct Received {
  Message message;
  File file;  ///< that came with it, if one did
};

/** One end of a control connection. Never blocks. */
class Channel {
 public:
  explicit Channel(File socket) : socket_(std::move(socket)) {}
  int descriptor() const { return socket_.get(); }

  /** False if the other end is gone, or takes nothing any more. */
  bool send(const Message& message, int file = -1);
  /** The next message, or nothing: then closed() says whether one may still come. Throws Error for what is no
   *  message. */
  std::optional<Received> receive();
  bool closed() const { return closed_; }

 private:
  File socket_;
  bool closed_ = false;
};

/** A listening control socket at `path`, which only this user may open (mode 0600). Takes the place of a socket that
 *  nobody listens at any more; `file` becomes the socket's file. Throws Error if the place is taken. */
File listen_at(const std::string& path, SocketFile& file);
/** Who has called, or none. */
File accept_from(const File& listener);
/** A connection to whoever listens at `path`, or none, with the reason in `problem`. */
File connect_to(const std::string& path, std::string& problem);

}  // namespace heddle::memif
