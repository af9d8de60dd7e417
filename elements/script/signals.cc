#include "elements/script/signals.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "click/values.h"
#include "core/error.h"

namespace heddle::script {
namespace {

int pipe_ends[2] = {-1, -1};  // numbers of signals, from the handler to the thread
std::atomic<int> untaken{0};
std::atomic<uint64_t> turns{0}, answers{0};            // that have been given
static_assert(std::atomic<int>::is_always_lock_free);  // a signal handler counts

void on_signal(int number) {
  const int before = errno;
  const auto byte = static_cast<unsigned char>(number);
  ++untaken;
  if (write(pipe_ends[1], &byte, 1) != 1) --untaken;  // full: enough of them are on their way
  errno = before;
}

struct Watcher {
  const void* owner;
  std::function<bool()> take;
};
struct Watched {
  struct sigaction before;
  std::vector<Watcher> watchers;
};

/** Made when the first signal is watched, and there until the program ends. */
class Watch {
 public:
  static Watch& instance() {
    static auto* watch = new Watch;  // its thread goes on until the very end
    return *watch;
  }

  void add(const void* owner, int number, std::function<bool()> take) {
    const std::lock_guard lock(mutex_);
    Watched& watched = signals_[number];
    if (watched.watchers.empty()) {
      struct sigaction action {};
      action.sa_handler = on_signal;
      action.sa_flags = SA_RESTART;
      if (sigaction(number, &action, &watched.before) != 0) throw Error(format("signal %d cannot be taken", number));
    }
    watched.watchers.push_back({owner, std::move(take)});
  }

  void remove(const void* owner) {
    const std::lock_guard lock(mutex_);
    for (auto& [number, watched] : signals_) {
      if (watched.watchers.empty()) continue;
      std::erase_if(watched.watchers, [&](const Watcher& watcher) { return watcher.owner == owner; });
      if (watched.watchers.empty()) sigaction(number, &watched.before, nullptr);
    }
  }

 private:
  Watch() {
    if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0 || fcntl(pipe_ends[0], F_SETFL, 0) != 0)
      throw Error("cannot make a pipe for signals");
    std::thread([this] { serve(); }).detach();
  }

  void serve() {
    unsigned char number = 0;
    while (read(pipe_ends[0], &number, 1) == 1 || errno == EINTR) {
      take(number);
      --untaken;
    }
  }

  void take(int number) {
    const std::lock_guard lock(mutex_);
    const auto found = signals_.find(number);
    if (found == signals_.end()) return;
    bool taken = false;
    for (const Watcher& watcher : found->second.watchers) taken = watcher.take() || taken;
    const auto before = found->second.before.sa_handler;
    if (!taken && before != SIG_DFL && before != SIG_IGN) before(number);
  }

  std::mutex mutex_;
  std::map<int, Watched> signals_;
};

}  // namespace

int signal_number(std::string_view text) {
  int number = 0;
  if (click::parse(text, number, 1, NSIG - 1)) return number == SIGKILL || number == SIGSTOP ? 0 : number;
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  if (name.starts_with("SIG")) name.erase(0, 3);
  for (number = 1; number < NSIG; ++number)
    if (const char* known = sigabbrev_np(number); known != nullptr && name == known)
      return number == SIGKILL || number == SIGSTOP ? 0 : number;
  return 0;
}

void watch_signal(const void* owner, int number, std::function<bool()> take) {
  Watch::instance().add(owner, number, std::move(take));
}

void forget_signals(const void* owner) { Watch::instance().remove(owner); }

void send_signal(int number, int process) {
  // raise() is over when this thread has taken the signal; kill() leaves it to any thread, some time.
  if ((process == getpid() ? raise(number) : kill(process, number)) != 0)
    throw Error(format("process %d: ", process) + std::strerror(errno));
}

bool signals_untaken() { return untaken > 0; }
bool signals_unanswered() { return untaken > 0 || answers != turns; }  // in this order, in which they go on
uint64_t answer_later() { return turns++; }
bool has_turn(uint64_t turn) { return answers >= turn; }
void answered() { ++answers; }

}  // namespace heddle::script
