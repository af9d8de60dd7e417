#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "measure/generate/filters.h"

namespace heddle::bench {

/** The shape of an address trie, level by level: of the nodes that have children, which share has one and which two,
 *  and for those with two how uneven they are: 1 - lighter / heavier in numbers of filters, averaged. */
struct TrieShape {
  struct Level {
    double one_child = 1, two_children = 0, skew = 0;
  };
  std::array<Level, 33> levels;
  int nesting = 1;  ///< most prefixes on a path from the root
};

/** What ClassBench's parameter files say of a filter set. All probabilities are shares of 1. */
struct FilterParameters {
  struct Protocol {
    int number;  ///< 0: any protocol
    double probability;
    std::array<double, kPortPairs> port_pairs;
  };
  struct Flags {
    uint16_t value, mask;
    double probability;
  };
  struct Ports {
    double probability;
    PortRange range;
  };
  /** Of the total length of both prefixes, and for each total of the source's. */
  struct Lengths {
    std::array<double, 65> total{};
    std::array<std::array<double, 33>, 65> source{};
  };

  size_t scale = 0;  ///< filters in the set that this describes
  std::vector<Protocol> protocols;
  std::map<int, std::vector<Flags>> flags;  ///< by protocol
  std::vector<Ports> source_ranges, source_exact, destination_ranges, destination_exact;
  std::array<Lengths, kPortPairs> lengths;
  TrieShape source, destination;
  std::array<double, 33> correlation{};  ///< [length]: equal up to length - 1 bits, both addresses go on equal
};

/** Reads ClassBench's format: sections -scale -prots -flags -extra -spar -spem -dpar -dpem -wc_wc ... -em_em -snest
 *  -sskew -dnest -dskew -pcorr, each ended by a line "#". Sections may come in any order; -flags, -extra, empty ones
 *  and -pcorr may be missing, and sections of other names (ClassBench-ng's -openflow) are passed over. Extra fields,
 *  which none of ClassBench's own files has, are refused. Throws Error "NAME:LINE: WHAT". */
FilterParameters parse_parameters(const std::string& name, std::string_view text);

/** The same, in the order that db_generator needs. */
std::string to_text(const FilterParameters& parameters);

/** The parameters of a filter set: what ClassBench's filter set analyzer computes. Throws Error if it is empty. */
FilterParameters parameters_of(const std::vector<Filter>& filters);

/** `like` is a parameter file, or the name of one that comes with Heddle: acl, fw or ipc. */
FilterParameters parameters_like(const std::string& like);

}  // namespace heddle::bench
