#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "click/diagnostics.h"

namespace heddle::click {

/** One argument of an element: variables substituted, comments removed, trimmed, quotes still in place. */
struct Argument {
  std::string text;
  Location where;
};

/** `name :: class_name(arguments)`. An element inside a compound element is called "outer/inner", one declared without
 *  a name "Class@N". */
struct ElementDeclaration {
  std::string name;
  std::string class_name;
  std::vector<Argument> arguments;
  Location where;
};

/** `from [from_port] -> [to_port] to`, elements as indices into Graph::elements. */
struct Connection {
  int from = 0;
  int from_port = 0;
  int to = 0;
  int to_port = 0;
  Location where;
};

/** Elements of this class have variables of their own: what no define() explains stays as it is in their arguments. */
inline bool keeps_variables(std::string_view class_name) {
  return class_name == "Script" || class_name == "DriverManager";
}

/** A configuration without compound elements: what the engine instantiates. Elements stand in the order in which the
 *  configuration mentions them, connections in that of their elements and ports; no connection occurs twice. */
struct Graph {
  std::vector<ElementDeclaration> elements;
  std::vector<Connection> connections;
  Location where;  ///< the beginning of the text: the place of mistakes of the whole

  /** The index of the element with that name, or -1. */
  int find(std::string_view name) const {
    for (size_t i = 0; i < elements.size(); ++i)
      if (elements[i].name == name) return static_cast<int>(i);
    return -1;
  }
};

}  // namespace heddle::click
