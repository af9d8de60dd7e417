#include "measure/campaign/table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/error.h"

namespace heddle::bench {
namespace {

struct Column {
  const char *value, *title;
  double scale;  ///< of the value in the table
  bool interval, only_if_not_zero;
};
constexpr Column kColumns[] = {
    {"mpps", "Mpps", 1, true, false},
    {"gbps", "Gb/s", 1, false, false},
    {"loss", "loss %", 100, false, false},
    {"latency_p50_us", "p50 us", 1, false, false},
    {"latency_p99_us", "p99 us", 1, true, false},
    {"latency_max_us", "max us", 1, false, false},
    {"cycles_per_packet", "cycles/packet", 1, false, false},
    {"cpu_utilisation", "CPU %", 100, false, false},
    {"core_share", "of cores %", 100, false, false},
    {"bytes_to_gpu", "B to GPU", 1, false, false},
    {"bytes_from_gpu", "B from GPU", 1, false, false},
    {"gpu_utilisation", "GPU %", 100, false, false},
    {"gpu_power_w", "GPU W", 1, false, false},
    {"packets_per_joule", "packets/J", 1, false, false},
    {"reordered", "reordered", 1, false, true},
    {"duplicated", "duplicated", 1, false, true},
    {"unrecognised", "unrecognised", 1, false, true},
};

// As many digits as mean something.
std::string number(double value) {
  if (value == 0) return "0";
  const double size = std::abs(value);
  if (size >= 1e6) return format("%.4g", value);
  return format(size >= 1000  ? "%.0f"
                : size >= 100 ? "%.1f"
                : size >= 10  ? "%.2f"
                : size >= 0.1 ? "%.3f"
                              : "%.3g",
                value);
}

std::string cell(const Record& record, const Column& column) {
  const Value* value = record.find(column.value);
  if (value == nullptr) return "-";
  const Summary& summary = value->summary;
  std::string text = number(summary.median * column.scale);
  if (column.interval && summary.measured() > 1)
    text += " [" + number(summary.low * column.scale) + ", " + number(summary.high * column.scale) + "]";
  return text;
}

bool is_shown(const Column& column, const std::vector<const Row*>& rows) {
  return std::any_of(rows.begin(), rows.end(), [&](auto* row) {
    const Value* value = row->record.find(column.value);
    return value != nullptr && (!column.only_if_not_zero || value->summary.high > 0);
  });
}

// What the intervals in the table are.
std::string intervals_of(const std::vector<const Row*>& rows) {
  std::set<size_t> numbers;
  for (auto* row : rows)
    for (auto& column : kColumns)
      if (const Value* value = row->record.find(column.value); column.interval && value != nullptr)
        numbers.insert(value->summary.measured());
  std::string text;
  for (const size_t n : numbers)
    if (n > 1) text += (text.empty() ? ", in brackets: " : "; ") + interval_name(n);
  return text;
}

// Columns as wide as they need, the numbers to the right.
std::string aligned(const std::vector<std::vector<std::string>>& lines) {
  std::string text;
  for (auto& line : lines) {
    for (size_t c = 0; c < line.size(); ++c) {
      size_t width = 0;
      for (auto& other : lines) width = std::max(width, other[c].size());
      text += (c == 0 ? "" : "  ") + std::string(width - line[c].size(), ' ') + line[c];
    }
    text += "\n";
  }
  return text;
}

// Each warning once, with the points that it is about.
std::string warnings_of(const std::vector<Row>& rows) {
  constexpr size_t kNamed = 3;
  std::map<std::string, std::vector<std::string>> points;
  for (auto& row : rows)
    for (auto& warning : row.record.warnings) points[warning].push_back(label_of(row.point));
  std::string text;
  for (auto& [warning, labels] : points) {
    text += "warning: " + warning + " (";
    for (size_t i = 0; i < std::min(labels.size(), kNamed); ++i) text += (i == 0 ? "" : "; ") + labels[i];
    text += (labels.size() > kNamed ? format("; %zu more", labels.size() - kNamed) : "") + ")\n";
  }
  return text;
}

}  // namespace

std::string label_of(const Point& point) {
  std::string text;
  for (auto& [name, value] : point.at) text += (text.empty() ? "" : " ") + name + "=" + value;
  return text.empty() ? point.measure : text;
}

std::string table_of(const std::vector<Row>& rows) {
  std::vector<std::string> measures;
  for (auto& row : rows)
    if (std::find(measures.begin(), measures.end(), row.point.measure) == measures.end())
      measures.push_back(row.point.measure);
  std::string text;
  for (auto& measure : measures) {
    std::vector<const Row*> own;
    for (auto& row : rows)
      if (row.point.measure == measure) own.push_back(&row);
    std::vector<std::vector<std::string>> lines(1);
    for (auto& [name, value] : own[0]->point.at) lines[0].push_back(name);
    for (auto& column : kColumns)
      if (is_shown(column, own)) lines[0].emplace_back(column.title);
    for (auto* row : own) {
      lines.emplace_back();
      for (auto& [name, value] : row->point.at) lines.back().push_back(value);
      for (auto& column : kColumns)
        if (is_shown(column, own)) lines.back().push_back(cell(row->record, column));
    }
    text += (text.empty() ? "" : "\n") + measure + intervals_of(own) + "\n" + aligned(lines);
  }
  return text + warnings_of(rows);
}

std::string ratio_lines(const std::vector<std::pair<std::string, Summary>>& ratios) {
  std::string text;
  for (auto& column : kColumns)
    for (auto& [name, ratio] : ratios)
      if (name == column.value)
        text += format("  %-18s %s [%s, %s]%s\n", name.c_str(), number(ratio.median).c_str(), number(ratio.low).c_str(),
                       number(ratio.high).c_str(),
                       ratio.samples.empty() ? "" : (" (" + interval_name(ratio.measured()) + ")").c_str());
  return text;
}

}  // namespace heddle::bench
