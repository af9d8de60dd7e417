#pragma once

#include <CLI/CLI.hpp>
#include <string>

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

}  // namespace heddle
