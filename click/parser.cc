#include "click/parser.h"

#include "click/flatten.h"
#include "click/statements.h"

namespace heddle::click {

Graph parse(std::string_view text, const std::string& file, const ParseOptions& options, Diagnostics& diagnostics) {
  const Program program = parse_statements(text, file, options, diagnostics);
  Graph graph;
  if (program.complete) graph = flatten(program, options, diagnostics);
  graph.where = {file, 1, 1};
  return graph;
}

}  // namespace heddle::click
