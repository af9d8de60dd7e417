#pragma once

#include <cstdint>
#include <vector>

#include "elements/ip/filter/program.h"

namespace heddle::ip_filter {

/** Tests and where they lead. A target is an index into `nodes`, or ~verdict. */
struct Graph {
  struct Node {
    int test;  // index into `tests`
    int32_t next[2];
  };
  std::vector<Test> tests;  // all different
  std::vector<Node> nodes;
  int32_t start = -1;
  uint32_t network_bytes = 20, transport_bytes = 0;  // what packets have from each header on, if lengths are not asked
  uint32_t bytes_before = 0;                         // the same before the network header
};

/** The rules as a graph in which equal parts are shared. Throws Error if it would be too large. */
Graph make_graph(const std::vector<Rule>& rules, uint16_t otherwise, bool with_lengths);

/** A graph with the same verdicts, in which no test is asked whose answer follows from those on every way to it, as
 *  long as it does not become much larger by that. */
Graph without_known_answers(const Graph& graph);

/** The same graph without the nodes that nothing leads to, in the order in which packets come to them. */
Graph in_order(const Graph& graph);

/** Whether `asked` must be answered so, given the answer to `known`: 0 no, 1 yes, -1 it depends. */
int implied(const Test& known, bool answer, const Test& asked);

}  // namespace heddle::ip_filter
