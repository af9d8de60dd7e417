#pragma once

#include <string>

#include "click/graph.h"

namespace heddle::click {

/** The arguments of an element as they stand between its parentheses: "1, BURST 32". What would look like a variable,
 *  although it is text, is quoted. */
std::string unparse_arguments(const ElementDeclaration& element);

/** The declarations of a graph, one a line, in the order of its elements: "name :: Class(arguments);". */
std::string unparse_declarations(const Graph& graph);

/** The connections of a graph, in chains as Click's `flatconfig` prints them: "a [1] -> b\n    -> [2] c;". */
std::string unparse_connections(const Graph& graph);

/** The graph as a configuration: parse() of it gives the same graph again. */
std::string unparse(const Graph& graph);

}  // namespace heddle::click
