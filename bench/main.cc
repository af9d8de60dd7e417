// heddle_bench: runs the benchmarks beside the code and writes a table and a JSON file.
//
//   heddle_bench [--gpu | --cpu] [--json FILE] [--commit ID] [NAME...]
//   heddle_bench --probe NAME [--json FILE] [--commit ID] "parameter=value ..." ...    see bench/probe.h
//   heddle_bench --machine                                 this machine, as results name it (JSON)
//
// Without names all that this machine can run; --gpu only those that need one, --cpu only the others. Figures are
// measured, never asserted: the exit status tells of failures to run, not of slowness.

#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/bench.h"
#include "bench/probe.h"
#include "core/error.h"
#include "gpu/device.h"

namespace {

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

std::string machine(const std::vector<heddle::gpu::DeviceInfo>& gpus) {
  std::string text = cpu_model() + ", " + std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + " cores";
  for (auto& gpu : gpus) text += ", " + gpu.model;
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  using heddle::bench::Result;
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "--probe") return heddle::bench::probe_main({words.begin() + 1, words.end()});
  if (!words.empty() && words[0] == "--machine") return heddle::bench::machine_main();
  std::string json_file, commit = "unknown";
  bool gpu_only = false, cpu_only = false;
  std::set<std::string> wanted;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--gpu")
      gpu_only = true;
    else if (word == "--cpu")
      cpu_only = true;
    else if (word == "--json" && i + 1 < argc)
      json_file = argv[++i];
    else if (word == "--commit" && i + 1 < argc)
      commit = argv[++i];
    else
      wanted.insert(word);
  }
  std::string reason;
  const auto gpus = heddle::gpu::devices(reason);
  auto& all = heddle::bench::benchmarks();
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.name < b.name; });
  for (auto& name : wanted) {
    if (std::none_of(all.begin(), all.end(), [&](auto& b) { return b.name == name; })) {
      std::fprintf(stderr, "heddle_bench: no benchmark '%s'; there are:", name.c_str());
      for (auto& benchmark : all) std::fprintf(stderr, " %s", benchmark.name.c_str());
      std::fprintf(stderr, "\n");
      return 2;
    }
  }

  nlohmann::json entries = nlohmann::json::array();
  int failures = 0;
  std::printf("%s\ncommit %s\n", machine(gpus).c_str(), commit.c_str());
  std::printf("%-22s %12s %12s %-6s %8s %17s %7s\n", "name", "value", "baseline", "unit", "ratio", "95 % interval",
              "target");
  for (auto& benchmark : all) {
    if (!wanted.empty() && !wanted.contains(benchmark.name)) continue;
    if ((gpu_only && !benchmark.needs_gpu) || (cpu_only && benchmark.needs_gpu)) continue;
    if (benchmark.needs_gpu && gpus.empty()) {
      std::printf("%-22s not run: no GPU: %s\n", benchmark.name.c_str(), reason.c_str());
      if (gpu_only || !wanted.empty()) ++failures;
      continue;
    }
    try {
      for (const Result& r : benchmark.run()) {
        std::printf("%-22s %12.4g %12.4g %-6s %8.3f [%7.3f,%7.3f] %7s %s%s\n", r.name.c_str(), r.value, r.baseline,
                    r.unit.c_str(), r.ratio, r.low, r.high,
                    r.target > 0 ? heddle::format("%.3g", r.target).c_str() : "-",
                    r.target > 0 && r.ratio < r.target ? "BELOW " : "", r.note.c_str());
        std::fflush(stdout);
        entries.push_back({{"name", r.name},
                           {"value", r.value},
                           {"unit", r.unit},
                           {"baseline", r.baseline},
                           {"ratio", r.ratio},
                           {"ratio_interval_95", {r.low, r.high}},
                           {"target", r.target},
                           {"note", r.note},
                           {"machine", machine(gpus)},
                           {"commit", commit}});
      }
    } catch (const std::exception& error) {
      std::printf("%-22s failed: %s\n", benchmark.name.c_str(), error.what());
      ++failures;
    }
  }
  if (!json_file.empty()) {
    char date[32];
    const time_t now = time(nullptr);
    std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    std::ofstream(json_file) << nlohmann::json{{"date", date}, {"results", entries}}.dump(2) << "\n";
  }
  return failures == 0 ? 0 : 1;
}
