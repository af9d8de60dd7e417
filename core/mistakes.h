#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace heddle {

/** What is wrong with a text file, in errors that say where: "NAME:LINE: PROBLEM" for the 100 mistakes of the lowest
 *  lines, in their order, and then how many more there are. `errors` has them when this is destroyed. */
class Mistakes {
 public:
  Mistakes(std::string name, std::vector<std::string>& errors) : name_(std::move(name)), errors_(errors) {}
  ~Mistakes() {
    for (const auto& [line, problem] : first_)
      errors_.push_back(format("%s:%zu: %s", name_.c_str(), line, problem.c_str()));
    if (count_ > kMax) errors_.push_back(format("%s: ... and %zu more", name_.c_str(), count_ - kMax));
  }
  Mistakes(const Mistakes&) = delete;
  Mistakes& operator=(const Mistakes&) = delete;

  void add(size_t line, const std::string& problem) {
    ++count_;
    first_.emplace(line, problem);
    if (first_.size() > kMax) first_.erase(std::prev(first_.end()));
  }
  size_t count() const { return count_; }
  bool any() const { return count_ > 0; }

 private:
  static constexpr size_t kMax = 100;
  std::string name_;
  std::vector<std::string>& errors_;
  std::multimap<size_t, std::string> first_;  // by line
  size_t count_ = 0;
};

/** Throws Error with all of the errors, a line each, and `consequence` ("the rules stay as they are"), unless there are
 *  none. */
inline void throw_mistakes(const std::vector<std::string>& errors, const char* consequence) {
  if (errors.empty()) return;
  std::string text;
  for (const std::string& error : errors) text += (text.empty() ? "" : "\n") + error;
  throw Error(text + "; " + consequence);
}

/** Calls read(line, number) for each line of a text, from 1. */
template <class Read>
void each_line(std::string_view text, const Read& read) {
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    read(text.substr(0, end), number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace heddle
