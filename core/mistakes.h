#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace heddle {

/** What is wrong with a text file, in errors that say where: "NAME:LINE: PROBLEM" for the first 100 mistakes, and in
 *  the end how many more there are. */
class Mistakes {
 public:
  Mistakes(std::string name, std::vector<std::string>& errors) : name_(std::move(name)), errors_(errors) {}
  ~Mistakes() {
    if (count_ > kMost) errors_.push_back(format("%s: ... and %zu more", name_.c_str(), count_ - kMost));
  }
  Mistakes(const Mistakes&) = delete;
  Mistakes& operator=(const Mistakes&) = delete;

  void add(size_t line, const std::string& problem) {
    if (++count_ <= kMost) errors_.push_back(format("%s:%zu: %s", name_.c_str(), line, problem.c_str()));
  }
  bool any() const { return count_ > 0; }

 private:
  static constexpr size_t kMost = 100;
  std::string name_;
  std::vector<std::string>& errors_;
  size_t count_ = 0;
};

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
