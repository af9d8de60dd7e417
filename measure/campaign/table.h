#pragma once

#include <string>
#include <utility>
#include <vector>

#include "measure/campaign/record.h"
#include "measure/campaign/sweep.h"

namespace heddle::bench {

/** A point with what has been measured there. */
struct Row {
  Point point;
  Record record;
};

/** "size=64 cores=2", what tells a point from the others; the measure if there is no axis. */
std::string label_of(const Point& point);

/** A table for each measure: a column for each axis and each value that people look at, medians, with the interval of
 *  the first value and of the 99th percentile; then the warnings. */
std::string table_of(const std::vector<Row>& rows);

/** A line for each value that people look at: "mpps 1.53 [1.48, 1.60] (96 % interval)". */
std::string ratio_lines(const std::vector<std::pair<std::string, Summary>>& ratios);

}  // namespace heddle::bench
