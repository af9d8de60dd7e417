#include "core/compound.h"

#include <algorithm>

namespace heddle {

std::vector<Compound::Entry>& Compound::entries() {
  static std::vector<Entry> entries;
  return entries;
}

const Compound::Entry* Compound::find(std::string_view class_name) {
  const auto& all = entries();
  const auto found = std::find_if(all.begin(), all.end(), [&](auto& entry) { return entry.class_name == class_name; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> Compound::names() {
  std::vector<std::string> names;
  for (const Entry& entry : entries()) names.push_back(entry.class_name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string Compound::prelude() {
  std::string text;
  for (const Entry& entry : entries()) text += "elementclass " + entry.class_name + " " + entry.text + ";\n";
  return text;
}

}  // namespace heddle
