#include "io/capture/output_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace heddle::capture {

int open_output(const std::string& path) {
  if (path == "-") return STDOUT_FILENO;
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  struct stat status {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) {
    throw Error(
        format("cannot write '%s': %s; name a file in a directory that you may write to, or - for standard output",
               path.c_str(), std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode)) return descriptor;
  // Truncated only once the lock says that no Reader has it mapped.
  const bool taken = flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (!taken && (status.st_size == 0 || ftruncate(descriptor, 0) == 0)) return descriptor;
  const std::string why = taken ? "it is being read or written" : std::strerror(errno);
  ::close(descriptor);
  throw Error(format("cannot write '%s': %s; name another file", path.c_str(), why.c_str()));
}

}  // namespace heddle::capture
