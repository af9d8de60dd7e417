#include "io/capture/output_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

#include "core/error.h"

namespace heddle::capture {
namespace {

std::mutex open_mutex;
std::vector<const Output*> open_outputs;

}  // namespace

Output::Output(const std::string& path, const std::string& owner) : path_(path), owner_(owner) {
  descriptor_ = is_standard() ? STDOUT_FILENO : ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  struct stat status {};
  if (descriptor_ < 0 || fstat(descriptor_, &status) != 0) {
    if (is_standard()) {  // whoever writes there finds out
      claim();
      return;
    }
    const int error = errno;
    close();
    throw Error(
        format("cannot write '%s': %s; name a file in a directory that you may write to, or - for standard output",
               path.c_str(), std::strerror(error)));
  }
  device_ = status.st_dev, file_ = status.st_ino;
  shareable_ = S_ISCHR(status.st_mode) && !is_standard();
  try {
    claim();
    if (is_standard() || !S_ISREG(status.st_mode)) return;
    // Truncated only once the lock says that no Reader has it mapped.
    const bool taken = flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!taken && (status.st_size == 0 || ftruncate(descriptor_, 0) == 0)) return;
    throw Error(format("cannot write '%s': %s; name another file", path.c_str(),
                       taken ? "it is being read or written" : std::strerror(errno)));
  } catch (const Error&) {
    close();
    throw;
  }
}

/** Enters it into the list of outputs. */
void Output::claim() {
  const std::lock_guard lock(open_mutex);
  const auto other = std::find_if(open_outputs.begin(), open_outputs.end(), [this](const Output* output) {
    if (output->is_standard() && is_standard()) return true;
    return !shareable_ && !output->shareable_ && output->device_ == device_ && output->file_ == file_;
  });
  if (other != open_outputs.end())
    throw Error(format("cannot write %s: it is being written by %s; name another file",
                       is_standard() ? "standard output" : ("'" + path_ + "'").c_str(), (*other)->owner_.c_str()));
  open_outputs.push_back(this);
}

int Output::close() {
  {
    const std::lock_guard lock(open_mutex);
    std::erase(open_outputs, this);
  }
  const bool closes = descriptor_ >= 0 && !is_standard();
  const int result = closes && ::close(descriptor_) != 0 ? errno : 0;
  descriptor_ = -1;
  return result;
}

int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t bytes = ::write(descriptor, text.data(), text.size());
    if (bytes >= 0) {
      text.remove_prefix(static_cast<size_t>(bytes));
    } else if (errno == EAGAIN) {
      pollfd waiting{descriptor, POLLOUT, 0};
      poll(&waiting, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace heddle::capture
