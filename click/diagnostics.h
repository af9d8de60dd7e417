#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "core/text_file.h"

namespace heddle::click {

/** A place in a configuration. Lines and columns count from 1, columns in bytes; the file is spelled as it was given.
 */
struct Location {
  std::string file;
  int line = 0;
  int column = 0;

  /** "file:line:column". */
  std::string text() const;
  auto operator<=>(const Location&) const = default;
};

/** One mistake in a configuration: where it is, what is wrong and what would be right. */
struct Diagnostic {
  Location where;
  std::string message;

  /** "file:line:column: message"; without a place, the message. */
  std::string text() const;
  auto operator<=>(const Diagnostic&) const = default;
};

/** Collects the mistakes of a configuration, so that one run reports all of them; the first hundred, to be exact. */
class Diagnostics {
 public:
  /** Records a mistake unless full(); at the place of the hundredth all, up to a thousand together. */
  void error(const Location& where, std::string message);

  bool ok() const { return errors_.empty(); }
  /** There is no point in looking for further mistakes. */
  bool full() const { return errors_.size() >= 100; }
  /** In the order in which they were found. */
  const std::vector<Diagnostic>& errors() const { return errors_; }
  /** One line each, by place and, of one place, in the order in which they were found; without repetitions. */
  std::string text() const;

 private:
  std::vector<Diagnostic> errors_;
};

/** The known word that `word` most likely stands for (Damerau-Levenshtein distance, letter case ignored); "" if nothing
 *  is near. */
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/** "; did you mean 'X'?" with X the nearest known word, or "" if nothing is near. */
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

using heddle::in_quotes;

}  // namespace heddle::click
