#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "click/diagnostics.h"
#include "click/values.h"
#include "core/error.h"

namespace heddle {

/** Like CLI::Range, which takes NaN. */
inline CLI::Validator number_in(double least, double most) {
  const std::string range = format("%.12g to %.12g", least, most);
  return {[=](const std::string& text) {
            double value = 0;
            return click::parse(text, value, least, most) ? "" : "Value " + text + " not in range " + range;
          },
          range};
}

/** What is said of a word that is none of `known`: which may have been meant, and then `lists`, where all are. */
inline std::string hint(const std::string& word, const std::vector<std::string>& known, const std::string& lists) {
  const std::string near = click::suggestion(word, known);
  return near + (near.empty() ? "; " : " ") + lists;
}

}  // namespace heddle
