#include "measure/campaign/campaign.h"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "click/quoting.h"
#include "core/error.h"
#include "measure/campaign/machine.h"

namespace heddle::bench {

using Json = nlohmann::ordered_json;

std::string date_now() {
  char text[32];
  const time_t now = time(nullptr);
  tm parts{};
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
  return text;
}

Record Campaign::record_of(const Point& point, bool compared, const std::vector<Measurement>& repetitions) const {
  Record record = frame;
  record.measure = point.measure;
  record.parameters = describe(point.setup, point.measure);
  for (auto& [name, value] : frame.parameters.items()) record.parameters[name] = value;
  if (compared) record.parameters["compare"] = compare;  // measured in turn with the others
  record.input_hash = point.input_hash;
  record.date = date_now();
  for (size_t r = 0; r < repetitions.size(); ++r) {
    for (auto& [name, value, unit] : repetitions[r].samples) {
      auto found = std::find_if(record.values.begin(), record.values.end(),
                                [&wanted = name](auto& entry) { return entry.first == wanted; });
      if (found == record.values.end()) found = record.values.insert(found, {name, {{}, unit}});
      found->second.summary.samples.resize(r, std::nan(""));  // gaps, so that repetitions stay side by side
      found->second.summary.samples.push_back(value);
    }
    for (auto& warning : repetitions[r].warnings)
      if (std::find(record.warnings.begin(), record.warnings.end(), warning) == record.warnings.end())
        record.warnings.push_back(warning);
  }
  for (auto& [name, value] : record.values) {
    value.summary.samples.resize(repetitions.size(), std::nan(""));
    value.summary = summarise(std::move(value.summary.samples));
  }
  return record;
}

bool Campaign::has_histogram(const Record& record) const {
  if (histograms.empty() || record.find("latency_p50_us") == nullptr) return true;
  return record.histogram.starts_with(histograms + "/") && std::filesystem::exists(record.histogram);
}

void Campaign::write_histogram(Record& record, const Point& point, const std::vector<Measurement>& repetitions) const {
  std::optional<Histogram> all;
  for (auto& repetition : repetitions) {
    if (!repetition.latency_ns) continue;
    if (all)
      all->merge(*repetition.latency_ns);
    else
      all = repetition.latency_ns;
  }
  if (histograms.empty() || !all) return;
  constexpr size_t kLongest = 150;
  std::string name = point.measure;
  for (auto& [axis, value] : point.at) name += " " + axis + "=" + value;
  for (char& c : name)
    if (!click::is_word_character(c) && std::string("=.+-").find(c) == std::string::npos) c = '-';
  // Points that differ in what is not swept must not meet.
  record.histogram = histograms + "/" + name.substr(0, kLongest) + "-" + hash_of(record.key()).substr(0, 8) + ".hgrm";
  std::ofstream file(record.histogram);
  file << all->percentile_text(1000);  // as the record, in microseconds
  if (!file.flush()) throw Error(record.histogram + ": cannot be written: " + std::strerror(errno));
}

void Campaign::run_group(const Group& group, Store& store, size_t done, size_t all) {
  const bool compared = group.size() > 1;
  // Compared points belong together: all from the file, or all anew.
  std::vector<Record> known;
  for (auto& point : group)
    if (const Record* record = store.find(record_of(point, compared, {}).key()); record && has_histogram(*record))
      known.push_back(*record);
  if (known.size() == group.size()) {
    for (size_t i = 0; i < group.size(); ++i) finished(group[i], known[i], false);
    return;
  }
  std::vector<std::vector<Measurement>> results(group.size());
  int repetitions = 0;
  for (auto& point : group) repetitions = std::max(repetitions, point.setup.repetitions);
  for (int r = 0; r < repetitions; ++r) {
    for (size_t k = 0; k < group.size(); ++k) {
      const size_t i = r % 2 == 0 ? k : group.size() - 1 - k;  // what drifts meets none of them more than another
      progress(group[i], done + i, all, r);
      results[i].push_back(measure(group[i]));
    }
  }
  for (size_t i = 0; i < group.size(); ++i) {
    Record record = record_of(group[i], compared, results[i]);
    write_histogram(record, group[i], results[i]);
    store.append(std::move(record));
    finished(group[i], store.records().back(), true);
  }
}

void Campaign::run(const std::vector<Group>& groups, Store& store) {
  size_t all = 0, done = 0;
  for (auto& group : groups) all += group.size();
  for (auto& group : groups) {
    run_group(group, store, done, all);
    done += group.size();
  }
}

std::vector<std::pair<std::string, Summary>> compare(const Record& of, const Record& to) {
  std::vector<std::pair<std::string, Summary>> list;
  for (auto& [name, value] : of.values) {
    const Value* other = to.find(name);
    if (other == nullptr || value.summary.samples.size() != other->summary.samples.size()) continue;
    auto& below = other->summary.samples;
    if (std::find(below.begin(), below.end(), 0.0) != below.end()) continue;
    auto ratios = paired_ratios(value.summary.samples, below);
    if (std::all_of(ratios.begin(), ratios.end(), [](double ratio) { return std::isnan(ratio); })) continue;
    list.emplace_back(name, summarise(std::move(ratios)));
  }
  return list;
}

std::vector<std::pair<std::string, Summary>> unpaired_ratios(const Record& of, const Record& to) {
  std::vector<std::pair<std::string, Summary>> list;
  for (auto& [name, value] : of.values) {
    const Value* other = to.find(name);
    if (other == nullptr || other->summary.low <= 0) continue;
    const Summary &above = value.summary, &below = other->summary;
    list.emplace_back(name, Summary{above.median / below.median, above.low / below.high, above.high / below.low, {}});
  }
  return list;
}

Record comparison_record(const Record& of, const Record& to, const std::string& parameter) {
  const auto text = [&](const Record& record) {
    const Json& value = record.parameters.at(parameter);
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  Record record = of;
  record.measure += "-ratio";
  record.parameters[parameter] = text(of) + "/" + text(to);
  record.values.clear(), record.histogram.clear();
  if (of.input_hash != to.input_hash) record.input_hash = hash_of(of.input_hash + to.input_hash);
  for (auto& [name, summary] : compare(of, to)) record.values.push_back({name, {summary, "ratio"}});
  for (auto& warning : to.warnings)
    if (std::find(record.warnings.begin(), record.warnings.end(), warning) == record.warnings.end())
      record.warnings.push_back(warning);
  return record;
}

}  // namespace heddle::bench
