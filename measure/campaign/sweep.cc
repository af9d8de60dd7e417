#include "measure/campaign/sweep.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "click/values.h"
#include "core/error.h"

namespace heddle::bench {
namespace {

constexpr size_t kMaxPoints = 100000;

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
  for (int64_t value = first; value <= last;) {
    if (values.size() == kMaxPoints) throw Error(format("'%s' has more than %zu values", text.c_str(), kMaxPoints));
    values.push_back(std::to_string(value));
    if (factor ? __builtin_mul_overflow(value, step, &value) : __builtin_add_overflow(value, step, &value)) break;
  }
  return true;
}

const Parameter* parameter_of(const std::string& name) {
  const auto found = std::find_if(parameters().begin(), parameters().end(), [&](auto& p) { return name == p.name; });
  return found == parameters().end() ? nullptr : &*found;
}

bool matters(const Axis& axis, const std::string& measure) {
  const Parameter* parameter = parameter_of(axis.name);
  return parameter == nullptr || parameter->measure == nullptr || measure == parameter->measure;
}

// Equal for texts that mean the same: 1 and 01, a rate of 1M and 1000k.
std::string meaning_of(const std::string& name, std::string text) {
  if (const Parameter* parameter = parameter_of(name)) {
    Setup setup;
    try {
      parameter->set(setup, text);
    } catch (const Error&) {
      return text;  // expand() says what is wrong
    }
    const auto value = parameter->get(setup);
    text = value.is_string() ? value.get<std::string>() : value.dump();
  }
  double number = 0;
  if (int64_t whole = 0; click::parse(text, whole)) return std::to_string(whole);
  return click::parse(text, number) ? format("%.17g", number) : text;
}

}  // namespace

Axis parse_axis(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw Error("'" + text + "' is not NAME=VALUE,VALUE,... such as size=64,128 or cores=1..8");
  Axis axis{text.substr(0, equals), {}};
  if (axis.name.size() > 1 && axis.name[0] == '$' && parameter_of(axis.name.substr(1)) == nullptr)
    axis.name.erase(0, 1);
  for (size_t at = equals + 1; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string value = text.substr(at, comma - at);
    if (value.empty()) throw Error("'" + text + "': there is no value between two commas or at the end");
    if (!expand_range(value, axis.values)) axis.values.push_back(value);
    at = comma + 1;
  }
  std::set<std::string> meanings;
  for (auto& value : axis.values)
    if (!meanings.insert(meaning_of(axis.name, value)).second)
      throw Error("'" + text + "': the value " + value + " occurs twice");
  return axis;
}

std::vector<Group> expand(const Setup& base, const std::vector<std::string>& measures, const std::vector<Axis>& axes,
                          int compare) {
  std::vector<Group> groups;
  size_t points = 0;
  for (auto& measure : measures) {
    std::vector<const Axis*> own, order;  // the compared axis runs fastest, so that its points are neighbours
    for (auto& axis : axes)
      if (matters(axis, measure)) own.push_back(&axis);
    const Axis* compared = compare < 0 ? nullptr : &axes[static_cast<size_t>(compare)];
    std::copy_if(own.begin(), own.end(), std::back_inserter(order), [&](auto* axis) { return axis != compared; });
    const size_t in_group = order.size() == own.size() ? 1 : compared->values.size();
    if (in_group > 1) order.push_back(compared);
    size_t count = 1;
    for (auto* axis : own)
      if ((count *= axis->values.size()) > kMaxPoints) break;
    if ((points += count) > kMaxPoints) throw Error(format("more than %zu points", kMaxPoints));

    for (size_t k = 0; k < count; ++k) {
      std::map<const Axis*, std::string> values;
      size_t rest = k;
      for (auto axis = order.rbegin(); axis != order.rend(); rest /= (*axis)->values.size(), ++axis)
        values[*axis] = (*axis)->values[rest % (*axis)->values.size()];
      Point point{base, measure, {}, {}};
      for (auto* axis : own) {
        set_parameter(point.setup, axis->name, values[axis]);
        point.at.emplace_back(axis->name, values[axis]);
      }
      if (k % in_group == 0) groups.emplace_back();
      groups.back().push_back(std::move(point));
    }
  }
  return groups;
}

}  // namespace heddle::bench
