#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/generate/filter_parameters.h"

namespace heddle::bench {

/** The adjustments of ClassBench's db_generator, with its meanings. */
struct FilterSetOptions {
  size_t count = 0;
  uint64_t seed = 1;
  int smoothness = 0;  ///< 0 to 64: spreads each spike of the prefix lengths over so many lengths around it
  // The program's formula and the paper's sense of scope (the number of headers that match); the program's README has
  // the signs the other way round.
  double address_scope = 0;     ///< -1 to 1: more of the longer (negative) or of the shorter prefixes
  double port_scope = 0;        ///< -1 to 1: more of the more (negative) or of the less specific port pairs
  bool address_scaling = true;  ///< db_generator's -b: sets larger than the parameters' have more addresses
};

/** Different filters with the statistics of `parameters`, the more specific before the less specific; the same for the
 *  same options. As with db_generator, filters that come out twice are dropped; here more are made until there are
 *  `count`, unless the parameters cannot give so many: then there are fewer. */
std::vector<Filter> generate_filters(const FilterParameters& parameters, const FilterSetOptions& options);

/** The same, smoothed as options.smoothness says. */
FilterParameters::Lengths smoothed(const FilterParameters::Lengths& lengths, int smoothness);

/** A header for a filter set: `filter` counts from 0; it matches the header, but need not be the first that does. */
struct TraceHeader {
  Header header;
  size_t filter;
};

/** A header trace as ClassBench's trace_generator makes it: random filters, of each a random corner (every field at its
 *  lowest or highest), repeated as a Pareto distribution with shape `a` (0.01 to 100) and scale `b` (0 to 10^6) says
 *  (ceil(b / u^(1/a)), u uniform; b = 0: once). Throws Error. Flags that a filter asks for are as it asks. */
std::vector<TraceHeader> generate_headers(const std::vector<Filter>& filters, size_t count, double a, double b,
                                          uint64_t seed);

/** "SOURCE DESTINATION SOURCE_PORT DESTINATION_PORT PROTOCOL FLAGS FILTER" a line, in decimal, with tabs. Flags are the
 *  16 bits themselves, where trace_generator writes the filter's value and mask. */
std::string to_text(const std::vector<TraceHeader>& trace);
/** Reads such a trace; the filter may be missing or -1 (then it is not set). Throws Error "NAME:LINE: WHAT". */
std::vector<TraceHeader> parse_headers(const std::string& name, std::string_view text);

}  // namespace heddle::bench
