#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "click/diagnostics.h"
#include "click/graph.h"

namespace heddle::click {

/** What a configuration may refer to. */
struct ParseOptions {
  std::vector<std::string> known_classes;        // the engine's element classes
  std::map<std::string, std::string> variables;  // from the command line; win over define() at the top level
};

/** Reads a configuration in the Click language (E. Kohler et al., "The Click Modular Router", TOCS 2000; Click's
 *  click(5) manual) and expands its compound elements. `file` names the text in messages. All mistakes go to
 *  `diagnostics`; the graph is meaningless unless diagnostics.ok().
 *
 *  Not supported, and reported as such: overloaded compound elements ("||") and element groups ("-> ( ... ) ->").
 *  Limits: compound elements nest 64 deep; 100,000 elements and 1,000,000 connections after expansion. */
Graph parse(std::string_view text, const std::string& file, const ParseOptions& options, Diagnostics& diagnostics);

}  // namespace heddle::click
