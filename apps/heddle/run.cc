// `heddle run`: runs a chain, shows how it goes, and reports what became of every packet.

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/heddle/commands.h"
#include "core/error.h"

namespace heddle {
namespace {

volatile sig_atomic_t interrupts = 0, hangups = 0;
void on_interrupt(int) {
  interrupts = interrupts + 1;
  if (interrupts > 2) _exit(130);  // someone insists
}
void on_hangup(int) { hangups = hangups + 1; }

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = on_hangup;
  sigaction(SIGHUP, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

using Clock = std::chrono::steady_clock;

/** One line on a terminal, written over and over. */
class Progress {
 public:
  explicit Progress(bool shown) : shown_(shown) {}
  ~Progress() { clear(); }
  void update(const Engine& engine) {
    const auto now = Clock::now();
    if (!shown_ || now - last_ < std::chrono::milliseconds(500)) return;
    const double seconds = std::chrono::duration<double>(now - last_).count();
    const uint64_t packets = engine.received();
    const double mpps = static_cast<double>(packets - packets_) / seconds * 1e-6;
    const double share = engine.progress();
    const double elapsed = std::chrono::duration<double>(now - start_).count();
    std::string line =
        format("%.1f s  %llu packets  %.3f Mpps", elapsed, static_cast<unsigned long long>(packets), mpps);
    if (share >= 0 && share <= 1) {
      line += format("  %.0f %%", 100 * share);
      if (share > 0.01) line += format("  %.0f s left", elapsed / share - elapsed);
    }
    std::fprintf(stderr, "\r\033[K%s", line.c_str());
    std::fflush(stderr);
    last_ = now, packets_ = packets;
  }
  void clear() const {
    if (shown_) std::fputs("\r\033[K", stderr);
  }

 private:
  bool shown_;
  Clock::time_point start_ = Clock::now(), last_ = start_;
  uint64_t packets_ = 0;
};

void print_table(const Report& report) {
  std::printf("%-20s %-16s %-6s %14s  %s\n", "element", "class", "on", "packets", "");
  for (auto& element : report.elements) {
    std::string notes;
    for (auto& [name, value] : element.statistics)
      notes += format(" %s %llu", name.c_str(), static_cast<unsigned long long>(value));
    for (auto& [name, value] : element.drops)
      notes += format(" dropped:%s %llu", name.c_str(), static_cast<unsigned long long>(value));
    std::printf("%-20s %-16s %-6s %14s %s\n", element.name.c_str(), element.class_name.c_str(),
                element.processor.c_str(), element.counted ? std::to_string(element.packets).c_str() : "",
                notes.c_str());
  }
  if (!report.device.empty()) std::printf("GPU segments ran on %s\n", report.device.c_str());
  std::printf("received %llu, dropped %llu, %.3f s, %.3f Mpps, %.3f s of CPU\n",
              static_cast<unsigned long long>(report.received), static_cast<unsigned long long>(report.dropped),
              report.wall_s, report.wall_s > 0 ? static_cast<double>(report.received) / report.wall_s * 1e-6 : 0,
              report.cpu_s);
}

void print_json(const Report& report) {
  nlohmann::json elements = nlohmann::json::array();
  for (auto& element : report.elements) {
    nlohmann::json entry{{"name", element.name}, {"class", element.class_name}, {"processor", element.processor}};
    if (element.counted) entry["packets"] = element.packets;
    entry["drops"] = nlohmann::json::object();
    for (auto& [name, value] : element.drops) entry["drops"][name] = value;
    for (auto& [name, value] : element.statistics) entry["statistics"][name] = value;
    elements.push_back(std::move(entry));
  }
  const nlohmann::json all{{"elements", elements},       {"received", report.received}, {"dropped", report.dropped},
                           {"wall_s", report.wall_s},    {"cpu_s", report.cpu_s},       {"device", report.device},
                           {"problems", report.problems}};
  // File names need not be UTF-8.
  std::printf("%s\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

void reload(Engine& engine) {
  for (auto& node : engine.router().nodes) {
    std::string problem;
    bool changed = false;
    engine.update(*node.element, [&] { changed = node.element->reload(problem); });
    if (!problem.empty())
      std::fprintf(stderr, "heddle: %s: %s\n", node.element->name.c_str(), problem.c_str());
    else if (changed)
      std::fprintf(stderr, "heddle: %s: reloaded\n", node.element->name.c_str());
  }
}

}  // namespace

int RunCommand::run(const ChainOptions& chain_options) {
  Chain chain = read_chain(chain_options);
  std::istringstream words(dpdk);
  for (std::string word; words >> word;) options.dpdk_args.push_back(word);
  options.interactive = isatty(STDOUT_FILENO) != 0;
  catch_signals();
  Engine engine(std::move(chain.router), std::move(chain.plan), options);
  engine.start();
  {
    Progress progress(!quiet && isatty(STDERR_FILENO) != 0);
    const auto start = Clock::now();
    int reloaded = 0;
    while (engine.running()) {
      usleep(2000);
      if (interrupts > 0) engine.stop();
      if (seconds > 0 && std::chrono::duration<double>(Clock::now() - start).count() >= seconds) engine.stop();
      if (hangups != reloaded) reloaded = hangups, reload(engine);
      progress.update(engine);
    }
    engine.wait();
  }
  const Report report = engine.report();
  if (chain_options.json)
    print_json(report);
  else if (!quiet)
    print_table(report);
  for (auto& problem : report.problems) std::fprintf(stderr, "heddle: %s\n", problem.c_str());
  return report.problems.empty() ? 0 : 1;
}

}  // namespace heddle
