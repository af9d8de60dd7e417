#pragma once

#include <string>
#include <vector>

#include "measure/campaign/setup.h"

namespace heddle::bench {

/** A parameter and the values that it takes one after another. */
struct Axis {
  std::string name;
  std::vector<std::string> values;
};

/** "size=64,128", "cores=1..8", "size=64..1024*2" (each the double of the one before), "batch=32..128+32". "$NAME" is
 *  NAME unless a parameter is called so, too. Throws Error. */
Axis parse_axis(const std::string& text);

/** One point of a sweep. */
struct Point {
  Setup setup;
  std::string measure;
  std::vector<std::pair<std::string, std::string>>
      at;                  ///< its place: the value on each axis that matters to the measure
  std::string input_hash;  ///< of the files that it reads; "" = none
};

/** Points that are measured in turn, repetition by repetition, because they are compared; else a single one. */
using Group = std::vector<Point>;

/** All combinations of the values of the axes that matter to a measure, for each measure, the last axis running
 *  fastest. The points of a group differ on the axis `compare` (an index) alone; each point is a group if that is -1 or
 *  does not matter. Throws Error for values that a parameter does not take. */
std::vector<Group> expand(const Setup& base, const std::vector<std::string>& measures, const std::vector<Axis>& axes,
                          int compare = -1);

}  // namespace heddle::bench
