#pragma once

#include <map>
#include <string>

#include "click/graph.h"

namespace heddle::click {

/** Variables that stand in the place of secrets, by their texts: "SECRET", "SECRET2", ... A secret is what follows the
 *  keyword SECRET, and "secret=" in an argument of an element for DPDK ("net_memif0,secret=..."). */
using HiddenSecrets = std::map<std::string, std::string>;

/** The arguments of an element as they stand between its parentheses: "1, BURST 32". What would look like a variable,
 *  although it is text, is quoted. If there is `hidden`, secrets are replaced by variables ("SECRET $SECRET"), which
 *  are added to it. */
std::string unparse_arguments(const ElementDeclaration& element, HiddenSecrets* hidden = nullptr);

/** Whether something of its arguments would be hidden. */
bool has_secret(const ElementDeclaration& element);

/** The declarations of a graph, one a line, in the order of its elements: "name :: Class(arguments);". */
std::string unparse_declarations(const Graph& graph, HiddenSecrets* hidden = nullptr);

/** The connections of a graph, in chains as Click's `flatconfig` prints them: "a [1] -> b\n    -> [2] c;". */
std::string unparse_connections(const Graph& graph);

/** The graph as a configuration: parse() of it gives the same graph again, with the variables that are `hidden`. */
std::string unparse(const Graph& graph, HiddenSecrets* hidden = nullptr);

/** The same for other people's eyes: with variables for secrets, each with a comment at the beginning. */
std::string unparse_without_secrets(const Graph& graph);

}  // namespace heddle::click
