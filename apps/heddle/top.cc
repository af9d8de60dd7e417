// `heddle top`: how a running router does, on a terminal, over its control socket.

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "apps/heddle/commands.h"
#include "apps/heddle/remote.h"
#include "click/values.h"

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;

/** Counters of a moment. */
struct Sample {
  struct Element {
    std::string name, class_name, processor;
    uint64_t packets = 0, bytes = 0, dropped = 0;
    std::string reasons;  // of drops
  };
  Clock::time_point at;
  std::vector<Element> elements;
  uint64_t received = 0, received_bytes = 0, dropped = 0;
  std::string device;
  std::vector<double> load;  // of packet threads since the sample before, 0..1

  /** The same one: reconfiguration may have put one of another class in the place of a name's. */
  const Element* find(const Element& wanted) const {
    for (auto& element : elements)
      if (element.name == wanted.name && element.class_name == wanted.class_name) return &element;
    return nullptr;
  }
};

/** What a router says of itself. */
class Watched {
 public:
  Watched(const std::string& address, const volatile sig_atomic_t* interrupted)
      : address_(address), remote_(address, interrupted) {}

  Sample sample() {
    try {
      return read_sample();
    } catch (const nlohmann::json::exception&) {
      throw Error(address_ + ": what answers there is no Heddle router");
    }
  }

 private:
  Sample read_sample() {
    const auto report = nlohmann::json::parse(remote_.read("report"));
    Sample sample{Clock::now(),        {}, report.at("received"), report.at("received_bytes"), report.at("dropped"),
                  report.at("device"), {}};
    for (auto& entry : report.at("elements")) {
      Sample::Element element{
          entry.at("name"), entry.at("class"), entry.at("processor"), entry.at("packets"), entry.at("bytes"), 0, {}};
      for (auto& [reason, packets] : entry.at("drops").items()) {
        element.dropped += packets.get<uint64_t>();
        element.reasons += (element.reasons.empty() ? "" : ", ") + reason;
      }
      sample.elements.push_back(std::move(element));
    }
    std::istringstream lines(remote_.read("cycles"));
    size_t thread = 0;
    for (uint64_t all = 0, busy = 0; lines >> thread >> all >> busy;) {
      const auto [all_before, busy_before] = cycles_[thread];
      const uint64_t span = all - std::min(all, all_before);
      sample.load.push_back(
          span == 0 ? 0 : static_cast<double>(busy - std::min(busy, busy_before)) / static_cast<double>(span));
      cycles_[thread] = {all, busy};
    }
    return sample;
  }

  std::string address_;
  Remote remote_;
  std::map<size_t, std::pair<uint64_t, uint64_t>> cycles_;  // all and busy ones, by thread
};

/** "1.23M": with three digits. */
std::string short_number(double value) {
  const char* units[] = {"", "k", "M", "G", "T"};
  size_t unit = 0;
  for (; value >= 999.5 && unit < 4; ++unit) value /= 1000;
  return format(unit == 0 || value >= 99.95 ? "%.0f%s" : value >= 9.995 ? "%.1f%s" : "%.2f%s", value, units[unit]);
}

/** Cut or filled to `columns`. */
std::string cell(std::string text, size_t columns, bool right = false) {
  if (text.size() > columns) text = columns > 1 ? text.substr(0, columns - 1) + "~" : text.substr(0, columns);
  const std::string space(columns - text.size(), ' ');
  return right ? space + text : text + space;
}

enum class Order { chain, rate, drops };

std::vector<std::string> page(const Sample& before, const Sample& now, Order order, const std::string& address) {
  const double seconds = std::max(1e-9, std::chrono::duration<double>(now.at - before.at).count());
  const auto rate = [&](uint64_t then, uint64_t later) {
    return static_cast<double>(later - std::min(later, then)) / seconds;
  };
  std::vector<std::string> lines;
  lines.push_back("heddle top  " + address + "  in " + short_number(rate(before.received, now.received)) + "pps " +
                  short_number(8 * rate(before.received_bytes, now.received_bytes)) + "bit/s  dropped " +
                  short_number(rate(before.dropped, now.dropped)) + "pps  all " + std::to_string(now.received) +
                  " packets, " + std::to_string(now.dropped) + " dropped");
  std::string threads = "threads";
  for (size_t i = 0; i < now.load.size(); ++i) threads += format("  %zu %3.0f%%", i, 100 * now.load[i]);
  lines.push_back(threads + (now.device.empty() ? "" : "   GPU " + now.device));
  lines.push_back("");
  lines.push_back(cell("ELEMENT", 24) + cell("CLASS", 18) + cell("ON", 7) + cell("PPS", 8, true) +
                  cell("BIT/S", 9, true) + cell("PACKETS", 15, true) + cell("DROPS/S", 9, true) +
                  cell("DROPPED", 12, true) + "  WHY");
  struct Row {
    double pps, drops;
    std::string text;
  };
  std::vector<Row> rows;
  for (auto& element : now.elements) {
    const Sample::Element none{}, *found = before.find(element);
    const Sample::Element& then = found == nullptr ? none : *found;
    const double pps = rate(then.packets, element.packets), drops = rate(then.dropped, element.dropped);
    rows.push_back({pps, drops,
                    cell(element.name, 23) + " " + cell(element.class_name, 17) + " " + cell(element.processor, 7) +
                        cell(short_number(pps), 8, true) +
                        cell(short_number(8 * rate(then.bytes, element.bytes)), 9, true) +
                        cell(std::to_string(element.packets), 15, true) + cell(short_number(drops), 9, true) +
                        cell(std::to_string(element.dropped), 12, true) + "  " + element.reasons});
  }
  if (order != Order::chain)
    std::stable_sort(rows.begin(), rows.end(), [order](const Row& one, const Row& other) {
      return order == Order::rate ? one.pps > other.pps : one.drops > other.drops;
    });
  for (auto& row : rows) lines.push_back(row.text);
  return lines;
}

/** A terminal whose keys are read one by one and whose screen is this program's; it is itself again at the end. */
class Terminal {
 public:
  Terminal() {
    tcgetattr(STDIN_FILENO, &before_);
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 0, raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    std::fputs("\033[?1049h\033[?25l", stdout);
  }
  ~Terminal() {
    std::fputs("\033[?25h\033[?1049l", stdout);
    std::fflush(stdout);
    tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void show(const std::vector<std::string>& lines) {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) size.ws_row = 24, size.ws_col = 80;
    std::string text = "\033[H";
    const size_t rows = std::min<size_t>(lines.size(), size.ws_row - size_t{1});
    for (size_t i = 0; i < rows; ++i) {
      const bool head = i == 3;
      text += (head ? "\033[7m" : "") + cell(lines[i], size.ws_col) + (head ? "\033[0m" : "") + "\n";
    }
    text += "\033[J" + cell("q: quit   c, r, d: in the order of the chain, by rate, by drops" +
                                (lines.size() > rows ? format("   (%zu more elements)", lines.size() - rows) : ""),
                            size.ws_col - size_t{1});
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }
  /** A key, or 0 if none is pressed in this time. */
  static char key(std::chrono::milliseconds wait) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    char pressed = 0;
    if (poll(&input, 1, static_cast<int>(wait.count())) <= 0) return 0;
    return read(STDIN_FILENO, &pressed, 1) == 1 ? pressed : 'q';
  }

 private:
  termios before_{};
};

volatile sig_atomic_t interrupted = 0;

/** From now on, signals that end programs set `interrupted`: what the router has begun to say is heard to its end. */
void take_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

}  // namespace

int TopCommand::run() const {
  Watched router(address, &interrupted);
  const auto interval = std::chrono::milliseconds(static_cast<int64_t>(1000 * interval_s));
  Sample before = router.sample();
  const bool live = count == 0 && isatty(STDOUT_FILENO) != 0 && isatty(STDIN_FILENO) != 0;
  if (!live) {
    for (int i = 0; i < std::max(count, 1); ++i) {
      usleep(static_cast<useconds_t>(1e6 * interval_s));
      Sample now = router.sample();
      for (auto& line : page(before, now, Order::chain, address)) std::printf("%s\n", line.c_str());
      std::fflush(stdout);
      before = std::move(now);
    }
    return 0;
  }
  take_signals();
  Terminal terminal;
  Order order = Order::chain;
  for (auto due = Clock::now(); interrupted == 0;) {
    const Sample now = router.sample();
    terminal.show(page(before, now, order, address));
    due += interval;
    bool again = false;
    while (!again && interrupted == 0 && Clock::now() < due) {
      const char key = Terminal::key(std::chrono::duration_cast<std::chrono::milliseconds>(due - Clock::now()) +
                                     std::chrono::milliseconds(1));
      if (key == 'q') return 0;
      again = key == 'c' || key == 'r' || key == 'd';
      if (again) order = key == 'c' ? Order::chain : key == 'r' ? Order::rate : Order::drops;
    }
    if (again)
      terminal.show(page(before, now, order, address)), due = Clock::now() + interval;
    else
      before = now;
  }
  return 0;
}

int TraceCommand::run() const {
  Remote router(address, &interrupted);
  take_signals();
  router.write("trace", std::to_string(count) + " " + filter);
  // However this ends: as long as a router follows packets, its threads are slower.
  struct End {
    Remote& router;
    ~End() {
      try {
        router.write("trace", "");
      } catch (const Error&) {  // it has gone
      }
    }
  } const end_of_trace{router};
  const auto end = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(1000 * seconds));
  while (interrupted == 0 && (seconds <= 0 || Clock::now() < end) &&
         click::value_of<int>(router.read("traced")) < count)
    usleep(20000);
  const std::string text = router.read("trace");
  std::fputs(text.empty() ? "no packet has come that matches\n" : text.c_str(), stdout);
  return 0;
}

}  // namespace heddle
