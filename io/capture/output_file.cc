#include "io/capture/output_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"

namespace heddle::capture {
namespace {

std::mutex open_mutex;
std::vector<const Output*> open_outputs;

constexpr std::chrono::milliseconds kLook{50};  // how often stopping() is asked

}  // namespace

/** Somebody waits for the reader of `output`, as long as this lives. */
class Output::Wait {
 public:
  explicit Wait(const Output& output) : output_(output) {
    const std::lock_guard lock(open_mutex);
    all.push_back(this);
  }
  ~Wait() {
    const std::lock_guard lock(open_mutex);
    std::erase(all, this);
  }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  static inline std::vector<const Wait*> all;  // in their order
  const Output& output_;
  const Clock::time_point since_ = Clock::now();
};

Output::Output(const std::string& path, const std::string& owner, std::function<bool()> stopping)
    : path_(path), owner_(owner), stopping_(std::move(stopping)) {
  open();
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
  is_socket_ = S_ISSOCK(status.st_mode);
  try {
    claim();
    if (is_standard()) open_anew(status.st_mode);
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

/** Without O_NONBLOCK it would wait for a named pipe's reader where no signal reaches it, and write() later on. */
void Output::open() {
  if (is_standard()) {
    descriptor_ = STDOUT_FILENO;
    return;
  }
  constexpr int kFlags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  struct stat status {};
  std::optional<Wait> wait;
  const auto since = Clock::now();
  while ((descriptor_ = ::open(path_.c_str(), kFlags, 0666)) < 0 && errno == ENXIO) {
    if (stat(path_.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode)) {
      errno = ENXIO;
      return;
    }
    if (stopping_ && stopping_())
      throw Error(format("cannot write '%s': nobody has opened it to read, and the program is to end", path_.c_str()));
    if (OpensInTime::any() && Clock::now() - since >= kPatience)
      throw Error(format("cannot write '%s': nobody has opened it to read within %jd seconds; open it to read first",
                         path_.c_str(), intmax_t{kPatience.count()}));
    if (!wait) wait.emplace(*this);
    std::this_thread::sleep_for(kLook);
  }
}

/** Standard output as a description of this program's own, so that O_NONBLOCK is nobody else's (open(2)). */
void Output::open_anew(mode_t mode) {
  if (!S_ISFIFO(mode) && !(S_ISCHR(mode) && isatty(STDOUT_FILENO) != 0)) return;
  const int own = ::open("/proc/self/fd/1", O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  may_block_ = own < 0;  // it is another user's
  if (own >= 0) descriptor_ = own;
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
  give_up_claim();
  const bool closes = descriptor_ >= 0 && descriptor_ != STDOUT_FILENO;
  const int result = closes && ::close(descriptor_) != 0 ? errno : 0;
  descriptor_ = -1;
  return result;
}

bool Output::is_at_path() const {
  struct stat status {};
  return is_standard() || (stat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == file_);
}

/** From now on another Output may write there. */
void Output::give_up_claim() const {
  const std::lock_guard lock(open_mutex);
  std::erase(open_outputs, this);
}

size_t Output::write(std::string_view text, bool waits) {
  size_t done = 0;
  std::optional<Wait> wait;
  while (done < text.size() && failure_.empty()) {
    const ssize_t taken = write_some(text.substr(done));
    if (taken > 0) {
      wait.reset();
      done += static_cast<size_t>(taken);
      last_taken_ = Clock::now();
    } else if (taken < 0 && errno != EAGAIN && errno != EINTR) {
      failure_ = std::strerror(errno);
    } else if (!waits) {
      break;
    } else {
      if (!wait) wait.emplace(*this);
      if (!wait_for_room()) failure_ = "whoever reads it has taken too long, and what writes it is to end";
    }
  }
  if (!failure_.empty()) give_up_claim();
  return done;
}

ssize_t Output::write_some(std::string_view text) const {
  if (is_socket_) return send(descriptor_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (may_block_) {
    pollfd waiting{descriptor_, POLLOUT, 0};
    if (poll(&waiting, 1, 0) == 0) return errno = EAGAIN, -1;
    text = text.substr(0, PIPE_BUF);  // what a pipe that is ready takes without waiting
  }
  return ::write(descriptor_, text.data(), text.size());
}

/** Waits for a while. False: the program is to end, and the reader has had its time. */
bool Output::wait_for_room() {
  pollfd waiting{descriptor_, POLLOUT, 0};
  poll(&waiting, 1, static_cast<int>(kLook.count()));
  const std::lock_guard lock(asking_);
  if (!stopping_ || !stopping_()) return true;
  const auto now = Clock::now();
  if (!stopping_since_) stopping_since_ = now;
  return now - std::max(*stopping_since_, last_taken_) < kPatience && now - *stopping_since_ < kPatienceInAll;
}

void Output::set_stopping(std::function<bool()> stopping) {
  const std::lock_guard lock(asking_);
  stopping_ = std::move(stopping);
  stopping_since_.reset();
}

std::string waits_in_vain(std::chrono::steady_clock::time_point since) {
  const auto now = Output::Clock::now();
  const std::lock_guard lock(open_mutex);
  if (now - since < kPatience) return {};
  for (const Output::Wait* wait : Output::Wait::all)
    if (now - wait->since_ >= kPatience || now - since >= kPatienceInAll)
      return wait->output_.owner_ + " waits for whoever reads " +
             (wait->output_.is_standard() ? "standard output" : "'" + wait->output_.path_ + "'");
  return {};
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
