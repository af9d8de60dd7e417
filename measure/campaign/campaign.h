#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure/campaign/store.h"
#include "measure/campaign/sweep.h"
#include "measure/wire/histogram.h"

namespace heddle::bench {

/** What one repetition of a point has given. A value that could not be measured is absent. */
struct Measurement {
  struct Sample {
    std::string name;
    double value;
    const char* unit;
  };
  std::vector<Sample> samples;
  std::vector<std::string> warnings;
  std::optional<Histogram> latency_ns = {};
};

/** Measures all points of a sweep that the results file does not have yet. */
struct Campaign {
  /** Measures a point once. May throw Error, which ends the campaign, and Interrupted. */
  std::function<Measurement(const Point& point)> measure;
  /** Everything of a record but measure, values, date and warnings; parameters: those that no setup has. */
  Record frame;
  std::string compare;     ///< "NAME=A,B", what is compared where a group has several points
  std::string histograms;  ///< folder for a file a point with the distribution of its latencies; "" = none

  /** What goes on: point `done` of `all`, repetition `repetition`. */
  std::function<void(const Point& point, size_t done, size_t all, int repetition)> progress = [](auto&&...) {};
  /** A record that is complete: measured now, or found in the file. */
  std::function<void(const Point& point, const Record& record, bool measured)> finished = [](auto&&...) {};

  /** Runs to the end. What has been finished stays in the store whatever happens. */
  void run(const std::vector<Group>& groups, Store& store);

 private:
  void run_group(const Group& group, Store& store, size_t done, size_t all);
  Record record_of(const Point& point, bool compared, const std::vector<Measurement>& repetitions) const;
  bool has_histogram(const Record& record) const;
  void write_histogram(Record& record, const Point& point, const std::vector<Measurement>& repetitions) const;
};

/** Of points that were measured in turn: `of` against `to`, value by value, by the ratios of the repetitions: a gap
 *  where one of them has one. */
std::vector<std::pair<std::string, Summary>> compare(const Record& of, const Record& to);

/** The same of points that were measured at different times: the ratio of the medians, from the least to the largest
 *  that the ends of both intervals give. */
std::vector<std::pair<std::string, Summary>> unpaired_ratios(const Record& of, const Record& to);

/** The record of a comparison of points that were measured in turn: measure "MEASURE-ratio"; the compared parameter's
 *  value is "OF/TO". */
Record comparison_record(const Record& of, const Record& to, const std::string& parameter);

/** UTC, as ISO 8601 has it. */
std::string date_now();

}  // namespace heddle::bench
