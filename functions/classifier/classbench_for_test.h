// ClassBench's filter sets.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/text_file.h"
#include "functions/classifier/rule_file.h"

namespace heddle::classifier {

/** Files with filter sets in $HEDDLE_TEST_DATA, ascending; none if there is no such folder. */
inline std::vector<std::string> classbench_files() {
  const char* data = std::getenv("HEDDLE_TEST_DATA");
  const std::string folder = std::string(data != nullptr ? data : "") + "/classbench/";
  std::vector<std::string> files;
  if (data == nullptr || !std::filesystem::exists(folder)) return files;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    if (file.is_regular_file() && file.path().native().ends_with("k")) files.push_back(file.path());
  std::ranges::sort(files);
  return files;
}

/** Such a set, and where there is a trace of headers on and just off the corners of its rules, these and the first
 *  rules that they match, by an independent search. */
struct ClassBenchSet {
  /** The rules lead to output 0. Throws Error. */
  explicit ClassBenchSet(const std::string& path) {
    const Actions any{.read = [](std::string_view) { return std::nullopt; }, .expected = "none", .usual = 0};
    std::vector<std::string> errors;
    rules = parse_rules(path, read_text_file(path, "rule file"), any, errors);
    if (!errors.empty()) throw Error(errors[0]);
    std::ifstream trace(path + "_edge_trace"), expected(path + "_edge_expected");
    Key key;
    for (std::string flags, filter; trace >> key[0] >> key[1] >> key[2] >> key[3] >> key[4] >> flags >> filter;)
      keys.push_back(key);
    for (int64_t rule; expected >> rule;) numbers.push_back(static_cast<uint32_t>(rule));
    if (keys.size() != numbers.size()) throw Error(path + " has a trace of another length than what is expected");
  }

  std::vector<Rule> rules;
  std::vector<Key> keys;
  std::vector<uint32_t> numbers;  ///< by key
};

}  // namespace heddle::classifier
