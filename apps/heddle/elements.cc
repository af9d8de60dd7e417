// `heddle elements`: the manuals, straight from the header comments.

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/heddle/commands.h"
#include "apps/heddle/options.h"
#include "core/compound.h"
#include "core/error.h"
#include "gpu/functions.h"

namespace heddle {
namespace {

// "Counter: counts packets and bytes." -> "counts packets and bytes."
std::string summary(const std::string& manual) {
  const std::string line = manual.substr(0, manual.find('\n'));
  const size_t colon = line.find(": ");
  return colon == std::string::npos ? line : line.substr(colon + 2);
}

const char* processors(const std::string& name) {
  if (Compound::find(name) != nullptr) return "compound";
  if (gpu::function_id(name) >= 0) return "cpu gpu";
  return Catalog::instance().find(name)->make()->neutral() ? "neutral" : "cpu";
}

}  // namespace

int show_elements(const std::string& name, bool json) {
  auto names = Catalog::instance().names();
  for (std::string& compound : Compound::names()) names.push_back(std::move(compound));
  std::sort(names.begin(), names.end());
  if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
    throw Error("unknown element '" + name + "'" + hint(name, names, "`heddle elements` lists all"));
  const auto longest = std::ranges::max_element(names, {}, &std::string::size);
  const auto width = static_cast<int>(longest->size());
  nlohmann::json list = nlohmann::json::array();
  for (auto& each : names) {
    if (!name.empty() && each != name) continue;
    if (json)
      list.push_back({{"name", each}, {"runs_on", processors(each)}, {"manual", manual(each)}});
    else if (!name.empty())
      std::fputs(manual(each).c_str(), stdout);
    else
      std::printf("%-*s %-8s %s\n", width, each.c_str(), processors(each), summary(manual(each)).c_str());
  }
  if (json) std::printf("%s\n", list.dump(2).c_str());
  return 0;
}

}  // namespace heddle
