#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

namespace heddle {

/** The file of a bound Unix socket, which is removed at the end, unless another file has taken its name by then. The
 *  socket is to be open until then: its file's number belongs to no other one so long. */
class SocketFile {
 public:
  SocketFile() = default;  ///< none
  /** The file `path`, which bind() has just made. */
  explicit SocketFile(std::string path);
  SocketFile(SocketFile&& other) noexcept { swap(other); }
  SocketFile& operator=(SocketFile&& other) noexcept {
    SocketFile old(std::move(other));
    swap(old);
    return *this;
  }
  ~SocketFile();

  void swap(SocketFile& other) noexcept {
    path_.swap(other.path_), std::swap(device_, other.device_), std::swap(number_, other.number_);
  }

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t number_ = 0;
};

}  // namespace heddle
