#include "bench/measure/sweep.h"

#include <algorithm>
#include <set>

#include "click/values.h"
#include "core/error.h"

namespace heddle::bench {
namespace {

constexpr size_t kMostPoints = 100000;

// "FIRST..LAST", "FIRST..LAST+STEP" or "FIRST..LAST*FACTOR"; false: it is no range.
bool expand_range(const std::string& text, std::vector<std::string>& values) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos) return false;
  const size_t step_at = text.find_first_of("+*", dots);
  int64_t first = 0, last = 0, step = 1;
  if (!click::parse(text.substr(0, dots), first) || !click::parse(text.substr(dots + 2, step_at - dots - 2), last))
    return false;  // a path such as ../x
  const bool factor = step_at != std::string::npos && text[step_at] == '*';
  if (step_at != std::string::npos && !click::parse(text.substr(step_at + 1), step)) step = 0;
  if (last < first || step < 1 || (factor && (step < 2 || first < 1)))
    throw Error("'" + text + "' is not a range such as 1..8, 64..1024*2 or 32..128+32");
  if ((last - first) / step >= static_cast<int64_t>(kMostPoints) && !factor) throw Error("'" + text + "' is too long");
  for (int64_t value = first; value <= last; value = factor ? value * step : value + step)
    values.push_back(std::to_string(value));
  return true;
}

}  // namespace

Axis parse_axis(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw Error("'" + text + "' is not NAME=VALUE,VALUE,... such as size=64,128 or cores=1..8");
  Axis axis{text.substr(0, equals), {}};
  for (size_t at = equals + 1; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string value = text.substr(at, comma - at);
    if (value.empty()) throw Error("'" + text + "': there is no value between two commas or at the end");
    if (!expand_range(value, axis.values)) axis.values.push_back(value);
    at = comma + 1;
  }
  if (std::set<std::string>(axis.values.begin(), axis.values.end()).size() != axis.values.size())
    throw Error("'" + text + "': a value occurs twice");
  return axis;
}

std::vector<Group> expand(const Setup& base, const std::vector<std::string>& measures, const std::vector<Axis>& axes,
                          int compare) {
  // The compared axis runs fastest, so that its points are neighbours.
  std::vector<size_t> order;
  for (size_t i = 0; i < axes.size(); ++i)
    if (static_cast<int>(i) != compare) order.push_back(i);
  if (compare >= 0) order.push_back(static_cast<size_t>(compare));
  size_t count = measures.size();
  for (auto& axis : axes)
    if ((count *= axis.values.size()) > kMostPoints) throw Error(format("more than %zu points", kMostPoints));

  const size_t in_group = compare < 0 ? 1 : axes[static_cast<size_t>(compare)].values.size();
  std::vector<Group> groups;
  for (size_t k = 0; k < count; ++k) {
    std::vector<size_t> index(axes.size());
    size_t rest = k;
    for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
      index[*axis] = rest % axes[*axis].values.size();
      rest /= axes[*axis].values.size();
    }
    Point point{base, measures[rest], {}};
    for (size_t i = 0; i < axes.size(); ++i) {
      set_parameter(point.setup, axes[i].name, axes[i].values[index[i]]);
      point.at.emplace_back(axes[i].name, axes[i].values[index[i]]);
    }
    if (k % in_group == 0) groups.emplace_back();
    groups.back().push_back(std::move(point));
  }
  return groups;
}

}  // namespace heddle::bench
