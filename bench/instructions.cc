#include "bench/instructions.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"
#include "core/error.h"

#ifdef __x86_64__
#include <x86intrin.h>
#endif

namespace heddle::bench {
namespace {

/** The child: stops itself before and behind the work. */
[[noreturn]] void be_traced(const std::function<void()>& work) {
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(2);
  work();
  raise(SIGSTOP);
  work();
  raise(SIGSTOP);
  _exit(0);
}

/** Steps between two stops of a child that does this. */
double steps(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child < 0) throw Error("fork failed");
  if (child == 0) be_traced(work);
  int status = 0;
  double count = 0;
  const auto stopped_by = [&](int signal) {
    return waitpid(child, &status, 0) == child && WIFSTOPPED(status) && WSTOPSIG(status) == signal;
  };
  bool right = stopped_by(SIGSTOP);
  while (right) {
    right = ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) == 0 && waitpid(child, &status, 0) == child &&
            WIFSTOPPED(status);
    if (right && WSTOPSIG(status) == SIGSTOP) break;
    ++count;
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  if (!right) throw Error("instructions cannot be counted: this process may not trace its children");
  return count;
}

}  // namespace

double instructions_of(const std::function<void()>& work) {
  return steps(work) - steps([] {});
}

double time_stamp_rate() {
#ifdef __x86_64__
  static const double rate = [] {
    const double start = seconds_now();
    const auto first = __rdtsc();
    while (seconds_now() < start + 0.05) {
    }
    return static_cast<double>(__rdtsc() - first) / (seconds_now() - start);
  }();
  return rate;
#else
  return 0;
#endif
}

}  // namespace heddle::bench
