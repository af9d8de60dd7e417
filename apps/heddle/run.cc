// `heddle run`: runs a chain, shows how it goes, and reports what became of every packet.

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <sstream>

#include "apps/heddle/commands.h"
#include "apps/heddle/progress.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/warnings.h"
#include "engine/metrics.h"
#include "io/capture/output_file.h"

namespace heddle {
namespace {

volatile sig_atomic_t interrupts = 0, hangups = 0, reading_chain = 0;
std::atomic<Engine*> running_engine = nullptr;
static_assert(std::atomic<Engine*>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);
void on_interrupt(int number) {
  interrupts = interrupts + 1;
  if (reading_chain != 0) {  // files and tables; there is nothing yet that would have to be closed
    constexpr char kMessage[] = "heddle: stopped by a signal while the chain was read; nothing was started\n";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
    _exit(128 + number);
  }
  if (interrupts > 2) _exit(130);  // someone insists
  // At once: what the program waits for may have to know, as a handler that builds a table for long, or an element that
  // waits for a pipe's reader.
  if (Engine* const engine = running_engine) engine->stop();
}
void on_hangup(int) { hangups = hangups + 1; }

/** While it lives, a signal stops `engine`. */
struct RunningEngine {
  explicit RunningEngine(Engine& engine) { running_engine = &engine; }
  ~RunningEngine() { running_engine = nullptr; }
};

using Clock = std::chrono::steady_clock;

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = on_hangup;
  action.sa_flags = SA_RESTART;  // what is being read is read on
  sigaction(SIGHUP, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

void write_configuration(Engine& engine, const std::string& path) {
  const std::string text = engine.handlers().read("flatconfig");
  FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "w");
  bool good = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) good = (file == stdout ? std::fflush(file) : std::fclose(file)) == 0 && good;
  if (!good) throw Error(path + ": " + std::strerror(errno));
}

/** What the process has used so far. */
class Usage {
 public:
  Usage() { getrusage(RUSAGE_SELF, &usage_); }
  // As Click and time(1) do: "0.012u 0.003s 0:01.50".
  void print_since() const {
    const Usage now;
    const double wall = std::chrono::duration<double>(now.time_ - time_).count();
    std::printf("%.3fu %.3fs %d:%05.2f\n", seconds(now.usage_.ru_utime) - seconds(usage_.ru_utime),
                seconds(now.usage_.ru_stime) - seconds(usage_.ru_stime), static_cast<int>(wall) / 60,
                wall - 60 * (static_cast<int>(wall) / 60));
  }

 private:
  static double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  }
  rusage usage_{};
  Clock::time_point time_ = Clock::now();
};

// Files that have changed are read again by whatever has a handler for it.
void reload_all(Engine& engine) {
  for (auto& node : engine.router().nodes) {
    const std::string& name = node.element->name;
    Handlers handlers;
    node.element->handlers(handlers);
    if (handlers.find("reload") == nullptr) continue;
    try {
      engine.handlers().write(name + ".reload", "");
      std::fprintf(stderr, "heddle: %s: reloaded\n", name.c_str());
    } catch (const Error& error) {
      std::fprintf(stderr, "heddle: %s: %s\n", name.c_str(), error.what());
    }
  }
}

}  // namespace

std::vector<std::string> split_dpdk_arguments(const std::vector<std::string>& texts) {
  std::vector<std::string> list;
  for (auto& text : texts) {
    std::istringstream words(text);
    for (std::string word; words >> word;) list.push_back(word);
  }
  return list;
}

void RunCommand::drive(Engine& engine) const {
  std::optional<Metrics> metrics;
  if (metrics_port != 0) metrics.emplace(metrics_port);
  engine.start();
  if (metrics) metrics->offer(engine);
  Progress progress(!quiet && !as_click && isatty(STDERR_FILENO) != 0);
  const auto end = RouterClock::now() + RouterClock::seconds(seconds);
  std::optional<RouterClock::Sleeper> sleeper;
  if (seconds > 0) sleeper.emplace().sleep_until(end);
  int reloaded = 0;
  while (engine.running()) {
    usleep(2000);
    if (interrupts > 0) engine.stop();
    if (sleeper && RouterClock::now() >= end) engine.stop(), sleeper.reset();
    if (hangups != reloaded) reloaded = hangups, engine.handlers().exclusively([&] { reload_all(engine); });
    progress.update(engine);
  }
  metrics.reset();  // its threads read what wait() changes
  engine.wait();
}

std::string RunCommand::prints(const ChainOptions& chain) const {
  if (!handlers.empty()) return "-h";
  if (print_time) return "-t";
  if (output == "-") return "-o";
  if (do_not_run) return {};
  if (chain.json) return "--json";
  return quiet || as_click ? "" : "the report of the run, which --quiet leaves out";
}

int RunCommand::run(const ChainOptions& chain_options) {
  warnings_wanted = !quiet && !no_warnings;
  if (simulated_time)
    RouterClock::simulate(RouterClock::seconds(*simulated_time), RouterClock::seconds(simulated_tick_s));
  reading_chain = 1;
  catch_signals();
  Configuration chain = read_chain(chain_options);
  if (warnings_wanted && !as_click) warn_of_hidden_rules(chain.router);
  reading_chain = 0;
  options.dpdk_args = split_dpdk_arguments(dpdk);
  options.interactive = isatty(STDOUT_FILENO) != 0;
  Engine engine(std::move(chain.router), std::move(chain.plan), options);
  engine.handlers().global().read("report", [&] { return json_of(engine.report()); });
  engine.allow_reconfigure([&](const std::string& text) { return read_new_chain(chain_options, text); },
                           allow_reconfigure);
  // Those of another chain may have them (-R); and Click runs first.
  if (!do_not_run && !as_click && !allow_reconfigure) check_handlers(engine, handlers, exit_handler);
  const RunningEngine stopped_by_signals(engine);
  if (!output.empty()) write_configuration(engine, output);

  // No element may write among what is printed.
  std::optional<capture::Output> printed;
  if (const std::string what = prints(chain_options); !what.empty()) printed.emplace("-", what);
  const Usage before;
  if (!do_not_run) drive(engine);
  if (print_time) before.print_since();
  int code = 0;
  if (!handlers.empty() && !print_handlers(engine, handlers)) code = 1;
  if (!do_not_run) {
    const Report report = engine.report();
    if (chain_options.json)
      print_json(report);
    else if (!quiet && !as_click && handlers.empty())
      print_table(report);
    for (auto& problem : report.problems) std::fprintf(stderr, "heddle: %s\n", problem.c_str());
    if (!report.problems.empty()) code = 1;
  }
  return exit_handler.empty() ? code : exit_code(engine, exit_handler);
}

}  // namespace heddle
