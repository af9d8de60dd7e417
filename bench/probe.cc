#include "bench/probe.h"

#include <algorithm>
#include <cstdio>

#include "click/values.h"
#include "core/error.h"
#include "gpu/device.h"
#include "measure/campaign/campaign.h"
#include "measure/campaign/machine.h"
#include "measure/campaign/nvml.h"
#include "measure/campaign/store.h"

namespace heddle::bench {
namespace {

std::map<std::string, std::string> parse_point(const std::string& text) {
  std::map<std::string, std::string> values;
  for (size_t at = 0; at < text.size();) {
    const size_t space = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, space - at);
    const size_t equals = word.find('=');
    if (!word.empty() && (equals == std::string::npos || equals == 0))
      throw Error("'" + word + "': expected parameter=value");
    if (!word.empty()) values[word.substr(0, equals)] = word.substr(equals + 1);
    at = space + 1;
  }
  return values;
}

nlohmann::ordered_json number_or_text(const std::string& text) {
  int value = 0;
  if (click::parse(text, value)) return value;
  return text;
}

// As heddle bench says it, so that both speak of one machine.
GpuFacts gpu_facts() {
  std::string reason;
  const auto gpus = gpu::devices(reason);
  GpuFacts facts;
  if (gpus.empty()) return facts;
  if (const auto nvml = Nvml::open(gpus[0].pci)) facts = nvml->facts();
  facts.model = gpus[0].model;
  return facts;
}

}  // namespace

std::vector<Probe>& probes() {
  static std::vector<Probe> all;
  return all;
}

std::string Probe::Parameters::text(const std::string& name, const std::string& otherwise,
                                    const std::vector<std::string>& allowed) {
  const auto given = values_.find(name);
  const std::string value = given == values_.end() ? otherwise : given->second;
  if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    std::string expected;
    for (auto& word : allowed) expected += (expected.empty() ? "" : ", ") + word;
    throw Error(name + ": '" + value + "' is none of " + expected);
  }
  return used_[name] = value;
}

int Probe::Parameters::number(const std::string& name, int otherwise, int low, int high) {
  try {
    return click::value_of<int>(text(name, std::to_string(otherwise)), low, high);
  } catch (const Error& error) {
    throw Error(name + ": " + error.what());
  }
}

void Probe::Parameters::expect_all_used() const {
  for (auto& [name, value] : values_) {
    if (used_.contains(name)) continue;
    std::string known;
    for (auto& [used, unused] : used_) known += " " + used;
    throw Error(name + ": there is no such parameter here; there are" + known);
  }
}

int probe_main(const std::vector<std::string>& words) {
  std::string name, json_file, commit = "unknown";
  std::vector<std::string> points;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--json" && i + 1 < words.size())
      json_file = words[++i];
    else if (words[i] == "--commit" && i + 1 < words.size())
      commit = words[++i];
    else
      (name.empty() ? name : points.emplace_back()) = words[i];
  }
  try {
    const auto probe = std::find_if(probes().begin(), probes().end(), [&](auto& p) { return p.name == name; });
    if (probe == probes().end()) {
      std::string known;
      for (auto& one : probes()) known += " " + one.name;
      throw Error("--probe '" + name + "': there are" + known);
    }
    Store store(json_file);
    Record record;
    record.name = record.measure = name;
    record.machine = describe_machine(gpu_facts());
    record.commit = commit;
    for (auto& point : points) {
      Probe::Parameters parameters(parse_point(point));
      const auto values = probe->run(parameters);
      parameters.expect_all_used();
      record.parameters = nlohmann::ordered_json::object();
      for (auto& [parameter, value] : parameters.used()) record.parameters[parameter] = number_or_text(value);
      record.values.clear();
      std::printf("%s %s:", name.c_str(), point.c_str());
      for (auto& value : values) {
        record.values.push_back({value.name, {summarise({value.value}), value.unit}});
        std::printf("  %s %.4g %s", value.name.c_str(), value.value, value.unit.c_str());
      }
      std::printf("\n");
      std::fflush(stdout);
      record.command = "heddle_bench --probe " + name + " \"" + point + "\"";
      record.date = date_now();
      store.append(record);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heddle_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}

int machine_main() {
  std::printf("%s\n", describe_machine(gpu_facts()).dump().c_str());
  return 0;
}

}  // namespace heddle::bench
