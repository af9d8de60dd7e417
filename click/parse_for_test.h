#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "click/parser.h"

namespace heddle::click {

inline ParseOptions options_for_test() {
  return {{"A", "B", "C", "CheckIPHeader", "Classifier", "Counter", "Discard", "FromDevice", "IPFilter", "Paint",
           "Print", "Queue", "Shaper", "ToDevice"},
          {}};
}

/** The graph as text: the elements, then the connections in alphabetical order. */
inline std::string show(const Graph& graph) {
  std::string elements;
  std::vector<std::string> connections;
  for (const ElementDeclaration& element : graph.elements) {
    std::string arguments;
    for (const Argument& argument : element.arguments) arguments += (arguments.empty() ? "" : "|") + argument.text;
    elements += element.name + " :: " + element.class_name + "(" + arguments + ")\n";
  }
  for (const Connection& c : graph.connections) {
    connections.push_back(graph.elements[c.from].name + " [" + std::to_string(c.from_port) + "] -> [" +
                          std::to_string(c.to_port) + "] " + graph.elements[c.to].name + "\n");
  }
  std::sort(connections.begin(), connections.end());
  for (const std::string& connection : connections) elements += connection;
  return elements;
}

/** What a correct configuration means. */
inline std::string parsed(const std::string& text, const std::map<std::string, std::string>& variables = {}) {
  ParseOptions options = options_for_test();
  options.variables = variables;
  Diagnostics diagnostics;
  const Graph graph = parse(text, "t", options, diagnostics);
  return diagnostics.ok() ? show(graph) : diagnostics.text();
}

/** The mistakes of a configuration. */
inline std::string mistakes(const std::string& text) {
  Diagnostics diagnostics;
  parse(text, "t", options_for_test(), diagnostics);
  return diagnostics.text();
}

}  // namespace heddle::click
