#include "click/parser.h"

#include "click/flatten.h"
#include "click/statements.h"

namespace heddle::click {

Graph parse(std::string_view text, const std::string& file, const ParseOptions& options, Diagnostics& diagnostics) {
  const Program program = parse_statements(text, file, options, diagnostics);
  if (!program.complete) return {};
  return flatten(program, options, diagnostics);
}

}  // namespace heddle::click
