#include "core/socket_file.h"

#include <sys/stat.h>
#include <unistd.h>

namespace heddle {

SocketFile::SocketFile(std::string path) {
  struct stat file {};
  if (lstat(path.c_str(), &file) != 0) return;  // removed by somebody already
  path_ = std::move(path), device_ = file.st_dev, number_ = file.st_ino;
}

SocketFile::~SocketFile() {
  struct stat file {};
  if (path_.empty() || lstat(path_.c_str(), &file) != 0) return;
  if (file.st_dev == device_ && file.st_ino == number_) unlink(path_.c_str());
}

}  // namespace heddle
