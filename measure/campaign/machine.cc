#include "measure/campaign/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "core/error.h"

namespace heddle::bench {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kHardware[] = {"cpu", "cores", "memory_bytes", "gpu", "flags"};

uint64_t fnv(std::string_view text, uint64_t hash = 0xcbf29ce484222325) {
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

std::string digits_of(uint64_t hash) { return format("%016llx", static_cast<unsigned long long>(hash)); }

std::string cpu_entry(const char* name) {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(':');
    if (line.starts_with(name) && colon != std::string::npos && colon + 2 <= line.size()) return line.substr(colon + 2);
  }
  return {};
}

std::set<std::string> words_of(const Json& list) {
  std::set<std::string> words;
  for (auto& word : list)
    if (word.is_string()) words.insert(word.get<std::string>());
  return words;
}

// The kernel keeps some memory for itself, more or less of it.
int64_t gibibytes(const Json& bytes) { return bytes.is_number() ? (bytes.get<int64_t>() + (1 << 29)) >> 30 : 0; }

// A hardware field so that equal hardware gives equal text.
std::string fact(const Json& machine, const std::string& name) {
  if (!machine.contains(name)) return "none";
  const Json& value = machine[name];
  if (name == "memory_bytes") return std::to_string(gibibytes(value)) + " GiB";
  if (name == "flags") return Json(words_of(value)).dump();
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string only_in(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::string text;
  for (auto& word : a)
    if (!b.contains(word)) text += (text.empty() ? "" : " ") + word;
  return text.empty() ? "nothing more" : text;
}

}  // namespace

std::string hash_of(const std::string& text) { return digits_of(fnv(text)); }

std::string hash_of_file(const std::string& file) {
  std::ifstream input(file, std::ios::binary);
  std::string part(1 << 16, '\0');
  uint64_t hash = fnv("");
  while (input.read(part.data(), static_cast<std::streamsize>(part.size())), input.gcount() > 0)
    hash = fnv({part.data(), static_cast<size_t>(input.gcount())}, hash);
  return digits_of(hash);
}

std::string machine_id(const Json& machine) {
  std::string text;
  for (const char* name : kHardware) text += fact(machine, name) + "\n";
  return hash_of(text);
}

std::string machine_differences(const Json& there, const Json& here) {
  std::string text;
  for (const char* name : kHardware) {
    const std::string a = fact(there, name), b = fact(here, name);
    if (a == b) continue;
    text += (text.empty() ? "" : "; ") + std::string(name) + ": ";
    if (std::string(name) == "flags") {
      const auto theirs = words_of(there.value("flags", Json())), ours = words_of(here.value("flags", Json()));
      text += only_in(theirs, ours) + " there, " + only_in(ours, theirs) + " here";
    } else {
      text += a + " there, " + b + " here";
    }
  }
  return text;
}

Json describe_machine(const GpuFacts& gpu) {
  Json machine{{"id", ""}};
  if (const std::string model = cpu_entry("model name"); !model.empty()) machine["cpu"] = model;
  machine["cores"] = sysconf(_SC_NPROCESSORS_ONLN);
  std::istringstream words(cpu_entry("flags"));
  std::vector<std::string> flags{std::istream_iterator<std::string>(words), {}};
  std::sort(flags.begin(), flags.end());
  machine["flags"] = flags;
  machine["memory_bytes"] = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  utsname system{};
  if (uname(&system) == 0) machine["kernel"] = std::string(system.sysname) + " " + system.release;
  if (!gpu.model.empty()) machine["gpu"] = gpu.model;
  if (!gpu.driver.empty()) machine["driver"] = gpu.driver;
  Json clocks = gpu.clocks;
  double mhz = 0;
  if (std::istringstream(cpu_entry("cpu MHz")) >> mhz) clocks["cpu_mhz"] = mhz;
  machine["clocks"] = clocks;
  machine["id"] = machine_id(machine);
  return machine;
}

}  // namespace heddle::bench
