#include "click/diagnostics.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "core/error.h"

namespace heddle::click {

namespace {

constexpr size_t kMaxWithLastPlace = 1000;
constexpr size_t kLongestWord = 64;  // longer words are no typing mistakes; bounds the work of distance()

std::string lower(std::string_view word) {
  std::string result(word);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::string Location::text() const { return file + ":" + std::to_string(line) + ":" + std::to_string(column); }

std::string Diagnostic::text() const { return where.line > 0 ? where.text() + ": " + message : message; }

void Diagnostics::error(const Location& where, std::string message) {
  // What an element says of a file ends with how many more mistakes there are.
  const bool same_place = full() && errors_.size() < kMaxWithLastPlace && errors_.back().where == where;
  if (!full() || same_place) errors_.push_back({where, std::move(message)});
}

std::string Diagnostics::text() const {
  std::vector<Diagnostic> sorted = errors_;
  std::ranges::stable_sort(sorted, {}, &Diagnostic::where);
  std::set<Diagnostic> told;
  std::string result;
  for (const Diagnostic& diagnostic : sorted)
    if (told.insert(diagnostic).second) result += diagnostic.text() + "\n";
  return result;
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() > kLongestWord) return "";
  const std::string wanted = lower(word);
  std::string best;
  size_t best_distance = (word.size() + 1) / 3 + 1;  // one mistake in two letters, two in five, three in eight
  for (const std::string& candidate : known) {
    const size_t longer = std::max(candidate.size(), word.size()), shorter = std::min(candidate.size(), word.size());
    if (candidate.empty() || longer - shorter >= best_distance) continue;
    const size_t d = distance(wanted, lower(candidate));
    if (d >= best_distance) continue;
    best = candidate;
    best_distance = d;
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  const std::string near = nearest(word, known);
  return near.empty() ? "" : "; did you mean '" + near + "'?";
}

}  // namespace heddle::click
