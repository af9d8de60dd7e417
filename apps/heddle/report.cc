// What `heddle run` shows while and after a chain runs.

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/heddle/commands.h"
#include "apps/heddle/progress.h"
#include "core/error.h"

namespace heddle {
namespace {

using ull = unsigned long long;

// On the wire a frame takes 24 bytes more (preamble, check sequence, gap), which count for no rate here.
double gbps(uint64_t bytes, double seconds) { return seconds > 0 ? static_cast<double>(bytes) * 8e-9 / seconds : 0; }
double mpps(uint64_t packets, double seconds) {
  return seconds > 0 ? static_cast<double>(packets) * 1e-6 / seconds : 0;
}

}  // namespace

void show_line(const std::string& line) {
  winsize size{};
  size_t end = line.size();
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    size_t columns = 0;
    for (end = 0; end < line.size(); ++end)
      if ((line[end] & 0xC0) != 0x80 && ++columns >= size.ws_col) break;  // bytes that continue UTF-8 take no column
  }
  std::fprintf(stderr, "\r\033[K%s", line.substr(0, end).c_str());
  std::fflush(stderr);
}

void Progress::update(const Engine& engine) {
  const auto now = Clock::now();
  if (!shown_ || now - last_ < std::chrono::milliseconds(500)) return;
  const Report report = engine.report();
  const double span = std::chrono::duration<double>(now - last_).count();
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  std::string line = format("%.1f s  %llu packets  %.3f Mpps %.3f Gb/s (average %.3f, %.3f)", elapsed,
                            static_cast<ull>(report.received), mpps(report.received - packets_, span),
                            gbps(report.received_bytes - bytes_, span), mpps(report.received, elapsed),
                            gbps(report.received_bytes, elapsed));
  if (report.dropped != 0) line += format("  %llu dropped", static_cast<ull>(report.dropped));
  if (const double share = engine.progress(); share >= 0 && share <= 1) {
    line += format("  %.0f %%", 100 * share);
    if (share > 0.01) line += format("  %.0f s left", elapsed / share - elapsed);
  }
  show_line(line);
  last_ = now, packets_ = report.received, bytes_ = report.received_bytes;
}

void Progress::clear() const {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void print_table(const Report& report) {
  std::printf("%-20s %-16s %-6s %14s %16s\n", "element", "class", "on", "packets", "bytes");
  for (auto& element : report.elements) {
    std::string notes;
    for (auto& [name, value] : element.statistics) notes += format(" %s %llu", name.c_str(), static_cast<ull>(value));
    for (auto& [name, value] : element.drops)
      notes += format(" dropped:%s %llu", name.c_str(), static_cast<ull>(value));
    std::printf("%-20s %-16s %-6s %14s %16s %s\n", element.name.c_str(), element.class_name.c_str(),
                element.processor.c_str(), std::to_string(element.packets).c_str(),
                std::to_string(element.bytes).c_str(), notes.c_str());
  }
  if (!report.device.empty()) std::printf("GPU segments ran on %s\n", report.device.c_str());
  for (auto& traffic : report.traffic) {
    if (traffic.on_cpu)
      std::printf("segment %d: the CPU took %llu packets; %llu changes between it and %s\n", traffic.segment,
                  static_cast<ull>(*traffic.on_cpu), static_cast<ull>(traffic.switches), traffic.device.c_str());
    if (traffic.landed)
      std::printf("segment %d: %llu packets have landed, %llu came back to their own buffers for want of room\n",
                  traffic.segment, static_cast<ull>(*traffic.landed), static_cast<ull>(traffic.landing_full));
    std::printf(
        "segment %d on %s: %llu bytes to the GPU, %llu back, by slots; of packets up to %llu and %llu in place\n",
        traffic.segment, traffic.device.c_str(), static_cast<ull>(traffic.to_gpu), static_cast<ull>(traffic.from_gpu),
        static_cast<ull>(traffic.declared_to_gpu), static_cast<ull>(traffic.declared_from_gpu));
  }
  std::printf("received %llu, dropped %llu, %.3f s, %.3f Mpps, %.3f Gb/s, %.3f s of CPU\n",
              static_cast<ull>(report.received), static_cast<ull>(report.dropped), report.wall_s,
              mpps(report.received, report.wall_s), gbps(report.received_bytes, report.wall_s), report.cpu_s);
}

std::string json_of(const Report& report) {
  nlohmann::json elements = nlohmann::json::array();
  for (auto& element : report.elements) {
    nlohmann::json entry{{"name", element.name}, {"class", element.class_name}, {"processor", element.processor}};
    entry["packets"] = element.packets, entry["bytes"] = element.bytes;
    entry["drops"] = nlohmann::json::object();
    for (auto& [name, value] : element.drops) entry["drops"][name] = value;
    for (auto& [name, value] : element.statistics) entry["statistics"][name] = value;
    elements.push_back(std::move(entry));
  }
  nlohmann::json traffic = nlohmann::json::array();
  for (auto& segment : report.traffic) {
    traffic.push_back({{"segment", segment.segment},
                       {"device", segment.device},
                       {"bytes_to_gpu", segment.to_gpu},
                       {"bytes_from_gpu", segment.from_gpu},
                       {"declared_to_gpu", segment.declared_to_gpu},
                       {"declared_from_gpu", segment.declared_from_gpu}});
    if (segment.landed)
      traffic.back().update({{"packets_landed", *segment.landed}, {"landing_full", segment.landing_full}});
    if (segment.on_cpu) traffic.back().update({{"packets_on_cpu", *segment.on_cpu}, {"changes", segment.switches}});
  }
  const nlohmann::json all{
      {"elements", elements},      {"received", report.received}, {"received_bytes", report.received_bytes},
      {"dropped", report.dropped}, {"wall_s", report.wall_s},     {"cpu_s", report.cpu_s},
      {"device", report.device},   {"traffic", traffic},          {"problems", report.problems}};
  // File names need not be UTF-8.
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void print_json(const Report& report) { std::fputs(json_of(report).c_str(), stdout); }

}  // namespace heddle
